// Package promapi answers the read side of Prometheus's HTTP API, /api/v1/…,
// from a store in this process, with Prometheus's own PromQL engine. It is what
// Grafana's Prometheus data source and client_golang's API client need; the
// paths about scraping and rules that such clients ask for are answered as by a
// Prometheus that scrapes and evaluates nothing.
//
// Requests and answers have the shape of
// https://prometheus.io/docs/prometheus/latest/querying/api/. Prometheus's
// own handler is not used: it would double the size of the binary.
package promapi
