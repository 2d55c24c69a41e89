package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Flags the outside relies on, with their defaults.
func TestHelpListsThePinnedFlags(t *testing.T) {
	var out strings.Builder
	_, err := ParseFlags([]string{"--help"}, &out)
	require.ErrorIs(t, err, ErrHelp)
	for _, want := range []string{
		"--http.listen-address=:4318\n", "--grpc.listen-address=:4317\n", "--admin.listen-address=127.0.0.1:9465\n",
		"--http.max-request-size=64MiB\n", "--grpc.max-request-size=64MiB\n", "--http.max-json-size=16MiB\n",
		"--http.cors-allowed-origins\n", "--storage.mode\n", "--storage.path=./data\n", "--direct.ack-timeout=5s\n",
		"--shutdown.timeout=30s\n", "--config.file\n", "--log.level=info\n", "--log.format=logfmt\n", "--remote-write.url\n",
	} {
		require.Contains(t, out.String(), "  "+want)
	}
}

func TestFlagErrors(t *testing.T) {
	for arg, want := range map[string]string{
		"--frob":        "flag provided but not defined: --frob",
		"stray":         `unexpected argument "stray"`,
		"--config.file": "flag needs an argument: --config.file",
	} {
		_, err := ParseFlags([]string{arg}, new(strings.Builder))
		require.ErrorContains(t, err, want)
	}
}

func TestFlagFaultsNameTheFlag(t *testing.T) {
	for arg, want := range map[string]string{
		"--direct.ack-timeout=soon":          `--direct.ack-timeout: "soon": not a valid duration string: "soon"`,
		"--direct.ack-timeout=0s":            `--direct.ack-timeout: "0s": must be more than zero`,
		"--cache.max-series=x":               `--cache.max-series: "x": must be a whole number`,
		"--otlp.disable-target-info=si":      `--otlp.disable-target-info: "si": must be true or false`,
		"--storage.mode=durable":             `--storage.mode: "durable": not supported in this version`,
		"--storage.mode=direct":              `--storage.mode: "direct": needs a destination`,
		"--storage.mode=cloud":               `--storage.mode: "cloud": must be local or direct`,
		"--remote-write.url=http://a:b@%zz/": `--remote-write.url: not a URL: invalid URL escape "%zz"`,
		"--cache.max-bytes=":                 `--cache.max-bytes: needs a value`,
		"--grpc.max-request-size=2GiB":       `--grpc.max-request-size: "2GiB": must be more than zero and less than 2GiB`,
	} {
		_, err := load(t, "", arg)
		require.ErrorContains(t, err, want, arg)
	}
	_, err := load(t, "", "--http.listen-address=", "--grpc.listen-address=")
	require.ErrorContains(t, err, "nothing would receive OTLP")
}

func TestBoolFlags(t *testing.T) {
	l, err := load(t, "otlp: {disable_target_info: false}\n", "--otlp.disable-target-info")
	require.NoError(t, err)
	require.True(t, l.OTLP.DisableTargetInfo)
	l, err = load(t, "otlp: {disable_target_info: true}\n", "--otlp.disable-target-info=false")
	require.NoError(t, err)
	require.False(t, l.OTLP.DisableTargetInfo)
}

func TestSize(t *testing.T) {
	for in, want := range map[string]string{
		"64MiB": "64MiB", "1024": "1KiB", "1536KiB": "1536KiB", "1 GiB": "1GiB", "2MB": "2MiB", "10B": "10", "0": "0",
	} {
		var s Size
		require.NoError(t, s.UnmarshalText([]byte(in)), in)
		require.Equal(t, want, s.String(), in)
	}
	for _, in := range []string{"", "MiB", "-1", "1.5MiB", "9999999TiB", "12x", "1 M iB"} {
		var s Size
		require.Error(t, s.UnmarshalText([]byte(in)), in)
	}
}
