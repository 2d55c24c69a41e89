// Command relay is the floor that bench/load compares with: it reads the body
// of each OTLP request unseen and posts one ready-made remote-write 2.0 body in
// its place. What it costs is HTTP twice, and nothing that a gateway is for.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	var (
		listen = flag.String("listen", "127.0.0.1:4318", "`address` to listen on")
		url    = flag.String("url", "", "where to post")
		file   = flag.String("body", "", "`file` with what to post, a Snappy block")
	)
	flag.Parse()
	if err := serve(*listen, *url, *file); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func serve(listen, url, file string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := post(client, url, body); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
}

func post(client *http.Client, url string, body []byte) error {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf;proto=io.prometheus.write.v2.Request")
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("X-Prometheus-Remote-Write-Version", "2.0.0")
	w, err := client.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if _, err := io.Copy(io.Discard, w.Body); err != nil {
		return err
	}
	if w.StatusCode/100 != 2 {
		return fmt.Errorf("the far end answered %s", w.Status)
	}
	return nil
}
