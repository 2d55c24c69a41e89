package converter

import "github.com/prometheus/client_golang/prometheus"

// metrics are the room's own numbers.
type metrics struct {
	points    prometheus.Counter
	repeated  prometheus.Counter
	dropped   prometheus.Counter
	rejected  [reasons]prometheus.Counter
	warnings  [warnings]prometheus.Counter
	conflicts [conflictKinds]prometheus.Counter
}

// warning is a change of data that is counted and not reported.
type warning uint8

const (
	warnHelp     warning = iota // another HELP than the one that stays
	warnExemplar                // an exemplar without a value, or over a limit
	warnJoined                  // attributes that meet in one label name
	warnExported                // an attribute renamed to exported_<name>
	warnReserved                // an attribute of the form __*__ left out
	warnScope                   // a scope attribute named like one of the scope's own labels
	warnInfo                    // a target_info left out for its size
	warnings
)

var warningLabels = [warnings]string{
	warnHelp:     "help_changed",
	warnExemplar: "exemplar_dropped",
	warnJoined:   "labels_joined",
	warnExported: "label_exported",
	warnReserved: "reserved_label_dropped",
	warnScope:    "scope_attribute_dropped",
	warnInfo:     "target_info_dropped",
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		points: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "otlpgw_converter_points_total",
			Help: "Data points received, rejected ones included.",
		}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "otlpgw_converter_repeated_points_total",
			Help: "Data points that had been acknowledged before: accepted and not sent again.",
		}),
	}
	m.dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "otlpgw_converter_dropped_points_total",
		Help: "Data points accepted of which relabelling left no series.",
	})
	conflicted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_converter_conflicts_total",
		Help: "Disagreements of senders about one series, name or target, by kind; /debug/conflicts lists them.",
	}, []string{"kind"})
	for k := range conflictKinds {
		m.conflicts[k] = conflicted.WithLabelValues(conflictText[k].kind)
	}
	rejected := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_converter_rejected_points_total",
		Help: "Data points rejected for good, by reason.",
	}, []string{"reason"})
	for r := accepted + 1; r < reasons; r++ {
		m.rejected[r] = rejected.WithLabelValues(r.String())
	}
	warned := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_converter_warnings_total",
		Help: "Changes of data that are counted and not reported, by reason.",
	}, []string{"reason"})
	for w := range warnings {
		m.warnings[w] = warned.WithLabelValues(warningLabels[w])
	}
	if reg != nil {
		reg.MustRegister(m.points, m.repeated, m.dropped, rejected, warned, conflicted)
	}
	return m
}

// count adds one request's report.
func (m *metrics) count(r *report, repeated int) {
	m.points.Add(float64(r.points))
	m.repeated.Add(float64(repeated))
	for reason, n := range r.rejected {
		if n > 0 {
			m.rejected[reason].Add(float64(n))
		}
	}
}

// warn counts a change of data that no client is told of.
func (s *settings) warn(w warning, detail string) {
	s.metrics.warnings[w].Inc()
	if s.OnVerdict != nil {
		s.OnVerdict(Verdict{Reason: warningLabels[w], Detail: detail})
	}
}
