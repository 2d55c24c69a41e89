package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Faults go to terminals and logs: they say what is wrong without repeating
// passwords, whether or not the URL or the block around them can be read.
func TestFaultsHideSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"url that cannot be parsed":  "remote_write: [{url: 'http://u:sekret@h:port/x'}]",
		"scalar for a block":         "remote_write: [{url: 'http://h/', basic_auth: sekret}]",
		"list for a block":           "remote_write: [{url: 'http://h/', authorization: [sekret]}]",
		"url with a fault beside it": "remote_write: [{url: 'http://u:sekret@h/', remote_timeout: soon}]",
	} {
		_, err := load(t, text)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "sekret", name)
	}
}
