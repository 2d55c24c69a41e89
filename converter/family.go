package converter

import (
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"
)

// family is the Prometheus metric family that a sample belongs to.
type family struct {
	name string
	meta metadata.Metadata
}

// families knows which type each family name of a tenant has, to find two
// metrics that translate to one name with different types. It is safe for
// concurrent use.
type families struct {
	mu sync.Mutex
	m  map[familyKey]*familyUse
}

type familyKey struct{ tenant, name string }

type familyUse struct {
	typ     model.MetricType
	metrics int
}

func newFamilies() *families { return &families{m: make(map[familyKey]*familyUse)} }

// enter notes a metric and reports whether its type is that of its family. The
// first one decides. Metrics that the cache keeps leave again; others leave no
// trace.
func (f *families) enter(tenant string, m *metric) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := familyKey{tenant, m.name}
	use := f.m[k]
	if use == nil {
		use = &familyUse{typ: m.meta.Type}
		f.m[k] = use
	}
	use.metrics++
	return use.typ == m.meta.Type
}

// leave forgets a metric that was entered.
func (f *families) leave(tenant string, m *metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := familyKey{tenant, m.name}
	if use := f.m[k]; use != nil {
		if use.metrics--; use.metrics == 0 {
			delete(f.m, k)
		}
	}
}
