package httpservice_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/httpservice"
)

func post(t *testing.T, service httpservice.Service) ([]byte, *httpservice.Error) {
	t.Helper()
	endpoint, err := service.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := endpoint.Post(t.Context(), []byte("{}"), 10)
	failed, _ := errors.AsType[*httpservice.Error](err)
	if err != nil && failed == nil {
		t.Fatalf("want an *Error, got %T", err)
	}
	return answer, failed
}

// nobody is the URL of a port on which no server listens. The port of a closed server may be that of another one.
const nobody = "http://127.0.0.1:1"

func TestErrorsSayWhetherTheCallMayHaveHadAnEffect(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	answering := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		handle              http.HandlerFunc
		url                 string
		noEffect, temporary bool
		after               time.Duration
	}{
		"no connection":             {url: nobody, noEffect: true, temporary: true},
		"a name without an address": {url: "http://render.invalid", noEffect: true, temporary: true},
		"429":                       {handle: answering(429), noEffect: true, temporary: true, after: 7 * time.Second},
		"503":                       {handle: answering(503), temporary: true, after: 7 * time.Second},
		"500":                       {handle: answering(500), temporary: true, after: 7 * time.Second},
		"501":                       {handle: answering(501)},
		"408":                       {handle: answering(408), temporary: true, after: 7 * time.Second},
		"202":                       {handle: answering(202)},
		"302":                       {handle: answering(302), noEffect: true},
		"401":                       {handle: answering(401), noEffect: true},
		"404":                       {handle: answering(404), noEffect: true},
		"413":                       {handle: answering(413), noEffect: true},
		"a connection that ends": {handle: func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, temporary: true},
		"an answer that ends early": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, "{")
		}, temporary: true},
		"an answer that does not come": {handle: func(http.ResponseWriter, *http.Request) { <-release }, temporary: true},
		"an answer that is too large": {handle: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("a", 11))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			service := httpservice.Service{URL: c.url, Timeout: 500 * time.Millisecond}
			if c.handle != nil {
				server := httptest.NewServer(c.handle)
				t.Cleanup(server.CloseClientConnections)
				service.URL = server.URL
			}
			_, err := post(t, service)
			if err == nil || err.NoEffect != c.noEffect || err.Temporary != c.temporary || err.RetryAfter != c.after {
				t.Errorf("got %+v", err)
			}
		})
	}
}

func TestACallWithoutAcceptedCertificatesHasNoEffect(t *testing.T) {
	called := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for want, service := range map[string]httpservice.Service{
		"is not trusted":         {URL: server.URL},
		"refuses the connection": {URL: server.URL, CA: ca},
		"does not use TLS":       {URL: strings.Replace(plain(t), "http:", "https:", 1)},
	} {
		_, err := post(t, service)
		if err == nil || !err.NoEffect || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %+v", want, err)
		}
	}
	if called {
		t.Error("the service was called")
	}
}

func plain(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestACancelledCallIsNotExplained(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	endpoint, err := httpservice.Service{URL: "http://" + listener.Addr().String()}.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := endpoint.Post(ctx, nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRetryAfterIsANumberOfSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header, date string
		delay        time.Duration
		found        bool
	}{
		"no header":                 {},
		"seconds":                   {header: "7", delay: 7 * time.Second, found: true},
		"zero":                      {header: "0", found: true},
		"more than the maximum":     {header: "99999999999", delay: httpservice.MaxRetryAfter, found: true},
		"a negative number":         {header: "-1"},
		"no number":                 {header: "soon"},
		"a date":                    {header: "Sun, 01 Mar 2026 12:00:09 GMT", delay: 9 * time.Second, found: true},
		"a date in the past":        {header: "Sun, 01 Mar 2026 11:00:00 GMT", found: true},
		"a date beyond the maximum": {header: "Sun, 01 Mar 2026 18:00:00 GMT", delay: httpservice.MaxRetryAfter, found: true},
		"a date by the clock of the server": {
			header: "Sun, 01 Mar 2026 10:00:09 GMT", date: "Sun, 01 Mar 2026 10:00:05 GMT", delay: 4 * time.Second, found: true,
		},
	} {
		header := http.Header{}
		header.Set("Retry-After", c.header)
		header.Set("Date", c.date)
		if delay, found := httpservice.RetryAfter(header, now); delay != c.delay || found != c.found {
			t.Errorf("%s: got %s, %t; want %s, %t", name, delay, found, c.delay, c.found)
		}
	}
}
