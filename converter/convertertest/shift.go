package convertertest

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Shift returns a copy of m in which everything happened d later: every time
// and start time of points and exemplars but the unset ones.
func Shift[M proto.Message](m M, d time.Duration) M {
	out := proto.Clone(m).(M)
	shift(out.ProtoReflect(), uint64(d.Nanoseconds()))
	return out
}

func shift(m protoreflect.Message, ns uint64) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Name() == "time_unix_nano" || fd.Name() == "start_time_unix_nano":
			m.Set(fd, protoreflect.ValueOfUint64(v.Uint()+ns))
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				shift(v.List().Get(i).Message(), ns)
			}
		default:
			shift(v.Message(), ns)
		}
		return true
	})
}
