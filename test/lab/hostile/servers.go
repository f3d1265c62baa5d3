package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// servers are the HTTP servers of the attacker: targets of kubeconfigs, functions, and archives. The first part of the
// path selects the behaviour.
type servers struct {
	address string
	server  *http.Server
	// clusters is the same server with TLS, which kubeconfigs need.
	clusters *httptest.Server
	api      *httputil.ReverseProxy
}

// endlessBytes bounds each endless response, so that a client that reads it to the end does not keep the processor busy
// for ever.
const endlessBytes = 1 << 30

func startServers(cluster *rest.Config) (*servers, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host, err := url.Parse(cluster.Host)
	if err != nil {
		return nil, err
	}
	s := &servers{address: "http://" + listener.Addr().String()}
	s.api = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(host) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	s.clusters = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	go func() { _ = s.server.Serve(listener) }() // It ends with Close.
	return s, nil
}

// Close ends the servers and all their connections.
func (s *servers) Close() error {
	s.clusters.CloseClientConnections()
	s.clusters.Close()
	return s.server.Close()
}

// endless are the behaviours that repeat a text: content type, beginning, and the repeated part.
var endless = map[string][3]string{
	"text":      {"application/json", `{"a":"`, "aaaaaaaaaaaaaaaa"},
	"list":      {"application/json", `{"kind":"APIGroupList","groups":[`, "{},"},
	"resources": {"application/json", `{"kind":"APIResourceList","resources":[`, `{"name":"a","kind":"A","verbs":["list"]},`},
	"deep":      {"application/json", `{"a":`, "["},
	"yaml":      {"application/yaml", "a:\n", "- a\n"},
	"sniffed":   {"application/json", "a:\n", "- a\n"},
	"protobuf":  {"application/vnd.kubernetes.protobuf", "k8s\x00", "\x0a\x02\x0a\x00"},
	"items": {
		"application/json",
		`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[`, `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}},`,
	},
	"zeros": {"application/gzip", "\x1f\x8b\x08", "\x00\x00\x00\x00\x00\x00\x00\x00"},
}

// zippedAnswer is a response that is small, and large when it is unpacked.
var zippedAnswer = bomb(`{"a":[`, "{},", 40_000_000, "1]}")

// behaviours are the names of all behaviours of a target cluster.
var behaviours = []string{
	"text", "list", "resources", "deep", "yaml", "sniffed", "protobuf", "zeros",
	"silent", "slow", "headers", "redirect", "zipped", "watches", "lists", "statuses",
}

func (s *servers) serve(w http.ResponseWriter, r *http.Request) {
	behaviour, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if text, ok := endless[behaviour]; ok {
		w.Header().Set("Content-Type", text[0])
		repeat(r.Context(), w, text[1], text[2])
		return
	}
	switch behaviour {
	case "slow":
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			flush(w)
			pause(r.Context(), time.Second)
		}
	case "headers":
		endlessHeaders(r.Context(), w)
	case "redirect":
		http.Redirect(w, r, r.URL.Path+"/a", http.StatusTemporaryRedirect)
	case "zipped":
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(zippedAnswer())
	case "statuses":
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case "watches", "lists":
		s.tamper(w, r, behaviour, "/"+rest)
	default: // silent
		<-r.Context().Done()
	}
}

// tamper forwards a request to the API server, except lists or watches, which get endless answers.
func (s *servers) tamper(w http.ResponseWriter, r *http.Request, behaviour, path string) {
	isWatch := r.URL.Query().Has("watch")
	isList := r.Method == http.MethodGet && strings.Count(path, "/") >= 3 && !isWatch
	w.Header().Set("Content-Type", "application/json")
	switch {
	case behaviour == "watches" && isWatch:
		repeat(r.Context(), w, "", `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"b"}}}`+"\n")
	case behaviour == "lists" && isList:
		repeat(r.Context(), w, `{"apiVersion":"v1","kind":"List","metadata":{},"items":[`, `{"metadata":{"name":"a"}},`)
	default:
		w.Header().Del("Content-Type")
		r.URL.Path = path
		s.api.ServeHTTP(w, r)
	}
}

// repeat writes a text, and then another text again and again.
func repeat(ctx context.Context, w http.ResponseWriter, head, part string) {
	_, err := w.Write([]byte(head))
	block := []byte(strings.Repeat(part, 64<<10/len(part)))
	for sent := 0; err == nil && ctx.Err() == nil && sent < endlessBytes; sent += len(block) {
		_, err = w.Write(block)
	}
}

func endlessHeaders(ctx context.Context, w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	connection, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer func() { _ = connection.Close() }()
	_, err = fmt.Fprint(connection, "HTTP/1.1 200 OK\r\n")
	for sent := 0; err == nil && ctx.Err() == nil && sent < endlessBytes; sent++ {
		_, err = fmt.Fprintf(connection, "X-Header-%d: %s\r\n", sent, strings.Repeat("a", 1000))
	}
}

func flush(w http.ResponseWriter) {
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
