package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// single is what one sender sees that has one small request at a time.
type single struct {
	// delay is how long the far end waits.
	delay time.Duration
	// p50 and p99 are those of the OTLP request; far is the median of the same
	// remote-write request sent to the far end directly, in turns with it.
	p50, p99, far time.Duration
}

// farDelays are those of the far ends of [bed.single].
var farDelays = []time.Duration{0, 10 * time.Millisecond}

// single sends n small requests, each after the answer to the one before.
func (b *bed) single(ctx context.Context, delay time.Duration, n int) (s single, err error) {
	small, err := smallTarget(time.Now().Add(ahead).UnixMilli())
	if err != nil {
		return s, err
	}
	for range minWarm {
		if _, err := b.push(ctx, small.next()); err != nil {
			return s, b.failed(err)
		}
	}
	if err := b.sink.await(ctx, minWarm*smallPoints, settle); err != nil {
		return s, err
	}
	header, body := b.sink.last()
	if len(body) == 0 {
		return s, b.failed(fmt.Errorf("nothing arrived of %d requests", minWarm))
	}
	b.sink.delay.Store(int64(delay))
	var ours, far []time.Duration
	for range n {
		start := time.Now()
		if _, err := b.push(ctx, small.next()); err != nil {
			return s, b.failed(err)
		}
		between := time.Now()
		code, text, err := b.post(ctx, b.sink.url, header, body)
		if err != nil || code/100 != 2 {
			return s, fmt.Errorf("the far end answered %d %q: %w", code, text, err)
		}
		ours, far = append(ours, between.Sub(start)), append(far, time.Since(between))
	}
	slices.Sort(ours)
	slices.Sort(far)
	return single{delay: delay, p50: quantile(ours, 0.5), p99: quantile(ours, 0.99), far: quantile(far, 0.5)}, nil
}
