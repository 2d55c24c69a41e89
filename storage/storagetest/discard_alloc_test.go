//go:build !race

package storagetest

import (
	"testing"

	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

func TestDiscardAllocatesNothing(t *testing.T) {
	d := NewDiscard()
	ls := seriesOf(0)
	ref, err := d.AppenderV2(t.Context()).Append(0, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	require.NoError(t, err)
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		app := d.AppenderV2(ctx)
		if _, err := app.Append(ref, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{}); err != nil {
			t.Fatal(err)
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
	}))
}
