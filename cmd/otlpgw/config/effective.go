package config

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// Effective returns the configuration as YAML that may be shown: with the
// defaults filled in and every secret replaced.
func (c *Config) Effective() ([]byte, error) {
	shown := *c
	shown.Storage.Mode = c.Mode()
	shown.RemoteWrite = make([]RemoteWrite, len(c.RemoteWrite))
	for i, r := range c.RemoteWrite {
		shown.RemoteWrite[i] = r.redacted()
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&shown); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
