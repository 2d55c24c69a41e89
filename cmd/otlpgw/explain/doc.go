// Package explain shows what the gateway makes of one OTLP payload: the series
// it becomes, and everything that is rejected or changed, with its reason.
//
// The payload goes through the gateway's own [converter.Pipeline], of which
// only the backend is replaced by one that keeps what it is given.
package explain
