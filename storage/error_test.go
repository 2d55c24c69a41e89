package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

// Refusals of one sample are told apart from failures of the transaction,
// wrapped ones too.
func TestRefusalReason(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason string
		ok     bool
	}{
		{promstorage.ErrDuplicateSampleForTimestamp, "conflict", true},
		{promstorage.ErrTooOldSample, "too_old", true},
		{promstorage.ErrOutOfBounds, "too_old", true},
		{promstorage.ErrOutOfOrderSample, "out_of_order", true},
		{(&histogram.Histogram{Count: 1}).Validate(), "buckets", true},
		{storage.Unavailable(errors.New("no space left on device"), 0), "", false},
		{errors.New("disk on fire"), "", false},
	} {
		require.Error(t, c.err)
		for _, err := range []error{c.err, fmt.Errorf("append: %w", c.err)} {
			reason, ok := storage.RefusalReason(err)
			require.Equal(t, c.ok, ok, err)
			require.Equal(t, c.reason, reason, err)
		}
	}
}

// An error keeps its cause and says its kind.
func TestError(t *testing.T) {
	cause := errors.New("far end is away")
	err := storage.Unavailable(cause, 0)
	require.ErrorIs(t, err, cause)
	require.Equal(t, "unavailable: far end is away", err.Error())
	require.Equal(t, "throttled", (&storage.Error{Kind: storage.KindThrottled}).Error())
	require.Equal(t, "refused", storage.KindRefused.String())
	require.Equal(t, "kind(9)", storage.Kind(9).String())
}
