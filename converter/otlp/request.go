package otlp

// Request scans an ExportMetricsServiceRequest and returns its
// ResourceMetrics.
//
//	repeated ResourceMetrics resource_metrics = 1;
func Request(b []byte) (List, *Error) {
	l := listOf(1)
	var f field
	for i := 0; i < len(b); {
		tag := i
		if b[i] == 1<<3|wireBytes {
			if _, i = content(b, i+1); i < 0 {
				return l, fault("ExportMetricsServiceRequest", torn, b, tag)
			}
			l.add(b, tag)
			continue
		}
		if i = next(b, i, &f); i < 0 {
			return l, fault("ExportMetricsServiceRequest", torn, b, tag)
		}
		if f.num == 1 {
			if f.typ != wireBytes {
				return l, fault("ExportMetricsServiceRequest", wrongType, b, tag)
			}
			l.add(b, tag)
		}
	}
	return l, nil
}

// ResourceMetrics is what one resource sent.
//
//	Resource resource = 1;
//	repeated ScopeMetrics scope_metrics = 2;
//	string schema_url = 3;
type ResourceMetrics struct {
	// Resource is the raw Resource message, empty when absent.
	Resource []byte
	Scopes   List
}

// ParseResourceMetrics reads one child of [Request].
func ParseResourceMetrics(b []byte, s *Scratch) (rm ResourceMetrics, err *Error) {
	var resource run
	rm.Scopes = listOf(2)
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return rm, fault("ResourceMetrics", torn, b, tag)
		}
		if f.num > 3 {
			continue
		}
		if f.typ != wireBytes {
			return rm, fault("ResourceMetrics", wrongType, b, tag)
		}
		switch f.num {
		case 1:
			if !resource.addMessage(b, f.from, f.to, &s.attributes) {
				return rm, fault("Resource", torn, b, f.from)
			}
		case 2:
			rm.Scopes.add(b, tag)
		}
	}
	rm.Resource = resource.bytes()
	return rm, nil
}

// ScopeMetrics is what one instrumentation scope of a resource sent.
//
//	InstrumentationScope scope = 1;
//	repeated Metric metrics = 2;
//	string schema_url = 3;
type ScopeMetrics struct {
	// Scope is the raw InstrumentationScope message, empty when absent.
	Scope     []byte
	SchemaURL []byte
	Metrics   List
}

// ParseScopeMetrics reads one child of ResourceMetrics.Scopes.
func ParseScopeMetrics(b []byte, s *Scratch) (sm ScopeMetrics, err *Error) {
	var scope run
	sm.Metrics = listOf(2)
	var f field
	for i := 0; i < len(b); {
		tag := i
		if b[i] == 2<<3|wireBytes {
			if _, i = content(b, i+1); i < 0 {
				return sm, fault("ScopeMetrics", torn, b, tag)
			}
			sm.Metrics.add(b, tag)
			continue
		}
		if i = next(b, i, &f); i < 0 {
			return sm, fault("ScopeMetrics", torn, b, tag)
		}
		if f.num > 3 {
			continue
		}
		if f.typ != wireBytes {
			return sm, fault("ScopeMetrics", wrongType, b, tag)
		}
		switch f.num {
		case 1:
			if !scope.addMessage(b, f.from, f.to, &s.attributes) {
				return sm, fault("InstrumentationScope", torn, b, f.from)
			}
		case 2:
			sm.Metrics.add(b, tag)
		case 3:
			sm.SchemaURL = b[f.from:f.to:f.to]
		}
	}
	sm.Scope = scope.bytes()
	return sm, nil
}

// Scope is an InstrumentationScope.
//
//	string name = 1;
//	string version = 2;
//	repeated KeyValue attributes = 3;
//	uint32 dropped_attributes_count = 4;
type Scope struct {
	Name, Version []byte
	Attributes    List
}

// ParseScope reads ScopeMetrics.Scope.
func ParseScope(b []byte) (sc Scope, err *Error) {
	sc.Attributes = listOf(3)
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return sc, fault("InstrumentationScope", torn, b, tag)
		}
		want := uint8(wireBytes)
		if f.num == 4 {
			want = wireVarint
		}
		if f.num <= 4 && f.typ != want {
			return sc, fault("InstrumentationScope", wrongType, b, tag)
		}
		switch f.num {
		case 1:
			sc.Name = b[f.from:f.to:f.to]
		case 2:
			sc.Version = b[f.from:f.to:f.to]
		case 3:
			sc.Attributes.add(b, tag)
		}
	}
	return sc, nil
}

// ParseResource reads ResourceMetrics.Resource and returns its attributes.
//
//	repeated KeyValue attributes = 1;
//	uint32 dropped_attributes_count = 2;
//	repeated EntityRef entity_refs = 3;
func ParseResource(b []byte) (attributes List, err *Error) {
	attributes = listOf(1)
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return attributes, fault("Resource", torn, b, tag)
		}
		want := uint8(wireBytes)
		if f.num == 2 {
			want = wireVarint
		}
		if f.num <= 3 && f.typ != want {
			return attributes, fault("Resource", wrongType, b, tag)
		}
		switch f.num {
		case 1:
			attributes.add(b, tag)
		case 3:
			if err := checkEntityRef(b[f.from:f.to]); err != nil {
				return attributes, err
			}
		}
	}
	return attributes, nil
}

// checkEntityRef finds torn frames in an EntityRef, which nobody reads.
//
//	string schema_url = 1;
//	string type = 2;
//	repeated string id_keys = 3;
//	repeated string description_keys = 4;
func checkEntityRef(b []byte) *Error {
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return fault("EntityRef", torn, b, tag)
		}
		if f.num <= 4 && f.typ != wireBytes {
			return fault("EntityRef", wrongType, b, tag)
		}
	}
	return nil
}
