package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// messageStream is what grpc-go's server streams can do below the level of
// messages. The type is internal there and its methods are not; a test of this
// room fails when an upgrade takes them away.
//
// It is used because the public way inflates a message of up to the size limit
// before any code of ours runs: interceptors, codecs and statistics all come
// after, and what comes before (the tap) does not know the size. A hundred
// streams of one connection with 64 KiB of gzip each would then hold 6 GiB.
// Read here, a message is paid for piece by piece, and one that cannot be
// inflated is INVALID_ARGUMENT and not INTERNAL.
type messageStream interface {
	ReadMessageHeader([]byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// maxPiece bounds the pieces in which a message is read, in bytes.
const maxPiece = 1 << 20

// slowest is how many bytes a second a sender is expected to manage.
const slowest = 128 << 10

// receiveGRPC reads the one message of a unary call into x.wire and returns how
// it is compressed. The frame is that of gRPC over HTTP/2,
// "Length-Prefixed-Message": a flag, four bytes of length, the message.
func (x *exchange) receiveGRPC(ctx context.Context, bound limit) (compression, error) {
	s, ok := grpc.ServerTransportStreamFromContext(ctx).(messageStream)
	if !ok {
		return identity, fmt.Errorf("the transport stream %T cannot be read", grpc.ServerTransportStreamFromContext(ctx))
	}
	stall := x.g.watch(ctx)
	if stall != nil {
		defer stall.Stop()
	}
	if err := s.ReadMessageHeader(x.header[:]); err != nil {
		return identity, streamError(ctx, err)
	}
	c, ok := compressionOf(s.RecvCompress())
	switch flag := x.header[0]; {
	case flag == 0:
		c = identity
	case flag != 1:
		return identity, &failure{outcomeBadData, fmt.Sprintf("message has the flag %d, want 0 or 1", flag)}
	case !ok || c == identity:
		return identity, &failure{outcomeBadData, fmt.Sprintf("message is compressed, and grpc-encoding is %q", s.RecvCompress())}
	}
	length := int64(binary.BigEndian.Uint32(x.header[1:]))
	if length > bound.bytes {
		return identity, bound.exceeded(length, "")
	}
	if err := x.receivePieces(ctx, s, length, stall); err != nil {
		return identity, err
	}
	// The call is unary: what has to come now is the end.
	switch err := s.ReadMessageHeader(x.header[:]); {
	case err == nil:
		return identity, &failure{outcomeBadData, "call has more than one message"}
	case err != io.EOF:
		return identity, streamError(ctx, err)
	}
	return c, nil
}

// receivePieces reads length bytes, in pieces as large as what is there
// already.
func (x *exchange) receivePieces(ctx context.Context, s messageStream, length int64, stall *time.Timer) (err error) {
	first := min(length, firstBuffer)
	for left := length; left > 0; {
		if x.wire == nil || len(x.wire.B) == cap(x.wire.B) {
			if x.wire, err = x.grow(x.wire, first, length, length); err != nil {
				return err
			}
		}
		buf := x.wire.B
		want := min(left, int64(cap(buf)-len(buf)), maxPiece)
		if stall != nil {
			// What was asked for comes as a whole: a large piece may take longer.
			stall.Reset(x.g.stallTimeout() + time.Duration(want)*time.Second/slowest)
		}
		piece, err := s.Read(int(want))
		if err != nil {
			return streamError(ctx, err)
		}
		n := piece.CopyTo(buf[len(buf):cap(buf)])
		piece.Free()
		x.wire.B = buf[:len(buf)+n]
		left -= int64(n)
	}
	return nil
}

// streamError turns what a stream's Read returns into an answer.
func streamError(ctx context.Context, err error) error {
	if context.Cause(ctx) == errStalled {
		return &failure{outcomeBusy, errStalled.Error()}
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &failure{outcomeBadData, "call ends before its message does"}
	}
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return &failure{outcomeBusy, "the message did not arrive in time"}
	case codes.Canceled:
		return context.Canceled
	}
	// The connection is gone, and with it whoever would read the answer.
	return &failure{outcomeBusy, "reading the message: " + err.Error()}
}
