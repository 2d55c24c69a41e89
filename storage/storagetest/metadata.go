package storagetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/metadata"
)

// Metadata returns the last committed metadata of each metric family.
func (r *Recorder) Metadata() map[string]metadata.Metadata {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]metadata.Metadata, len(r.metadata))
	for family, s := range r.metadata {
		out[family] = s.Metadata
	}
	return out
}

// MetadataText returns [Recorder.Metadata] for golden files, sorted by family,
// one line each: family, type, unit and help, the last two quoted.
func (r *Recorder) MetadataText() string {
	m := r.Metadata()
	var b strings.Builder
	for _, family := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s %s unit=%q help=%q\n", family, m[family].Type, m[family].Unit, m[family].Help)
	}
	return b.String()
}
