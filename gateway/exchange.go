package gateway

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/pool"
)

// firstBuffer is what a body gets before anything of it has arrived, in bytes:
// enough for most, and little enough that a sender who announces much and
// sends nothing holds little.
const firstBuffer = 256 << 10

// inflatedGuess is how much larger than on the wire a body is expected to be:
// the low end of what gzip does to OTLP.
const inflatedGuess = 4

// limit is a bound on a body and the setting that people know it by.
type limit struct {
	bytes   int64
	setting string
}

// exceeded is the answer to a body of size bytes, or of more than the limit
// when size is 0, for the reader has stopped there. What says in which state:
// empty or " inflated".
func (l limit) exceeded(size int64, what string) error {
	how := "more than " + sizeText(l.bytes)
	if size >= l.bytes+l.bytes/10 {
		// Otherwise it might print the same.
		how = sizeText(size)
	}
	return &failure{outcomeTooLarge, fmt.Sprintf("request of %s%s is larger than %s (%s)", how, what, l.setting, sizeText(l.bytes))}
}

// believed is how many times more than what has arrived a body gets room for at
// once, if that much was announced.
const believed = 16

// exchange is one request from its first byte to its answer. It owns the
// request's memory, what that weighs at the gate, and its conversion slot.
// Exchanges are pooled; one serves one request at a time.
type exchange struct {
	g *Gateway
	// wire holds the bytes as they came, body the bytes to convert. For a body
	// that is not compressed they are the same buffer, in body.
	wire, body *pool.Buffer
	// held is what this request weighs at the gate.
	held int64
	// slotted says that a conversion slot is held. Atomic, because the Pusher
	// says from where it calls Converted.
	slotted atomic.Bool
	// giveSlot is x.releaseSlot, bound once.
	giveSlot func()
	// size is the inflated size, for the metrics.
	size int
	// peer is the sender's address, if the Pusher wants it.
	peer string
	// owner is whose the request is.
	owner owner
	// from is the body over HTTP while it is read.
	from arriving
	// out holds an answer that is not a constant.
	out []byte
	// header is where the frame header of a gRPC message is read to.
	header [5]byte
}

// maxKeptOut bounds the reply buffer that a pooled exchange keeps: a message
// of full length and its frame.
const maxKeptOut = 2 * converter.MaxMessage

func (g *Gateway) newExchange() *exchange {
	x := &exchange{g: g}
	x.giveSlot = x.releaseSlot
	return x
}

// done gives everything back.
func (x *exchange) done() {
	x.releaseSlot()
	x.wire.Release()
	x.body.Release()
	x.wire, x.body = nil, nil
	x.g.gate.shrink(x.held)
	x.held, x.size, x.peer, x.owner = 0, 0, "", owner{}
	if cap(x.out) > maxKeptOut {
		x.out = nil
	}
	x.g.exchanges.Put(x)
}

// abandon is done after a panic: whoever panicked may have left views behind,
// so the memory goes to the garbage collector.
func (x *exchange) abandon() {
	x.releaseSlot()
	x.g.gate.shrink(x.held)
}

func (x *exchange) releaseSlot() {
	if x.slotted.CompareAndSwap(true, false) {
		x.g.slots.release()
	}
}

// pay takes weight more bytes at the gate.
func (x *exchange) pay(weight int64) error {
	if !x.g.gate.grow(x.held, weight) {
		x.g.metrics.refused[refusedBytes].Inc()
		return x.g.gate.busyBytes()
	}
	x.held += weight
	return nil
}

// refund gives weight bytes back.
func (x *exchange) refund(weight int64) {
	x.g.gate.shrink(weight)
	x.held -= weight
}

// grow returns a buffer with the bytes of b and about twice its room, though
// not for more than most bytes and one, the one by which excess is seen; without
// b, one for first bytes. The room is paid for first.
func (x *exchange) grow(b *pool.Buffer, first, announced, most int64) (*pool.Buffer, error) {
	room, want := int64(0), first
	if b != nil {
		room = int64(cap(b.B))
		// What was announced is believed of a sender of whom a part has arrived.
		want = min(max(2*room, min(announced, believed*room)), most+1)
	}
	if err := x.pay(want - room); err != nil {
		return b, err
	}
	bigger := pool.GetBuffer(int(want))
	// The pool rounds up, and what counts is what it gave.
	if extra := int64(cap(bigger.B)) - want; extra > 0 {
		if err := x.pay(extra); err != nil {
			bigger.Release()
			return b, err
		}
	}
	if b != nil {
		bigger.B = append(bigger.B, b.B...)
		b.Release()
	}
	return bigger, nil
}

// fill reads all of r into *b and reports whether r held more than most bytes;
// it stops soon after. The first buffer has room for first bytes, and announced is
// how many the sender has said there will be. Errors are
// the reader's, or the gate's.
func (x *exchange) fill(b **pool.Buffer, r io.Reader, first, announced, most int64) (tooLong bool, err error) {
	for {
		if *b == nil || len((*b).B) == cap((*b).B) {
			if *b, err = x.grow(*b, first, announced, most); err != nil {
				return false, err
			}
		}
		buf := (*b).B
		n, err := r.Read(buf[len(buf):cap(buf)])
		(*b).B = buf[:len(buf)+n]
		if int64(len((*b).B)) > most {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// push inflates and converts what was received in x.wire. It is called at most
// once. The error is one that answerTo knows.
func (x *exchange) push(ctx context.Context, c compression, json bool, inflated limit) (converter.Report, error) {
	if err := x.g.slots.acquire(ctx); err != nil {
		x.g.metrics.refused[refusedSlots].Inc()
		return converter.Report{}, err
	}
	x.slotted.Store(true)
	if c == identity {
		x.body, x.wire = x.wire, nil
	} else if err := x.inflate(c, inflated); err != nil {
		return converter.Report{}, err
	}
	req := converter.Request{
		Tenant: x.owner.tenant, ResourceTenants: x.owner.resources,
		JSON: json, Peer: x.peer, Converted: x.giveSlot,
	}
	if x.body != nil {
		// Closed, so that nobody who appends can reach what is behind.
		req.Body = x.body.B[:len(x.body.B):len(x.body.B)]
	}
	x.size = len(req.Body)
	if json {
		// The text is paid for; this is for what is made of it.
		if err := x.pay((x.g.o.JSONWeight - 1) * int64(x.size)); err != nil {
			return converter.Report{}, err
		}
	}
	return x.g.o.Pusher.Push(ctx, req)
}

// inflate unpacks x.wire into x.body and drops the former.
func (x *exchange) inflate(c compression, inflated limit) error {
	f := inflaters.Get()
	err := f.open(c, x.wireBytes())
	var tooLong bool
	if err == nil {
		first := min(inflatedGuess*int64(len(x.wireBytes()))+1, inflated.bytes+1)
		tooLong, err = x.fill(&x.body, f, first, first, inflated.bytes)
	}
	// Straight after: an inflater that panicked must not be used again.
	inflaters.Put(f)
	if err != nil {
		return err
	}
	if tooLong {
		return inflated.exceeded(0, " inflated")
	}
	if x.wire != nil {
		x.refund(int64(cap(x.wire.B)))
		x.wire.Release()
		x.wire = nil
	}
	return nil
}

func (x *exchange) wireBytes() []byte {
	if x.wire == nil {
		return nil
	}
	return x.wire.B
}

// panicError is a panic of ours that was caught on the way.
type panicError struct {
	value any
	stack []byte
}

// Error returns the value of the panic.
func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// caught makes an error of a recovered value, counts it and logs where it
// happened: it is our bug and somebody has to see it.
func (g *Gateway) caught(transport string, value any) error {
	p := &panicError{value: value, stack: debug.Stack()}
	g.metrics.panics.Inc()
	g.logger.Error("panic while serving a request; the request was answered as an internal error",
		"transport", transport, "panic", p.Error(), "stack", string(p.stack))
	return p
}
