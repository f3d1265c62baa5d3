package echo

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/pki"
)

// dialTimeout bounds a connection that is passed on.
const dialTimeout = 5 * time.Second

// Start listens on a unix socket for CONNECT requests, until the context ends. It returns when it knows the Services.
func Start(ctx context.Context, client kubernetes.Interface, authority pki.Authority, socket string) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	b := &backends{
		services: factory.Core().V1().Services().Lister(),
		slices:   factory.Discovery().V1().EndpointSlices().Lister(),
		pods:     factory.Core().V1().Pods().Lister(),
		secrets:  client.CoreV1(),
		signer:   signer{authority: authority},
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("list %s: %w", kind, context.Cause(ctx))
		}
	}
	proxy, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	inner := newQueue()
	outer := &http.Server{Handler: connect(b, inner), ReadHeaderTimeout: dialTimeout}
	programs := &http.Server{
		Handler: http.HandlerFunc(answer), ReadHeaderTimeout: dialTimeout,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: b.certificate},
	}
	// A connection must not outlive the pods that are behind it.
	programs.SetKeepAlivesEnabled(false)
	context.AfterFunc(ctx, func() { _, _ = outer.Close(), programs.Close() })
	go func() { _ = outer.Serve(proxy) }() // It ends with the context, like the other server.
	go func() { _ = programs.ServeTLS(inner, "", "") }()
	return nil
}

// connect handles CONNECT requests: a connection to a Service with a ready endpoint goes to the queue.
func connect(b *backends, inner *queue) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "want CONNECT", http.StatusMethodNotAllowed)
			return
		}
		target, isService := b.find(r.Host)
		if isService && !target.ready {
			http.Error(w, "no ready endpoint", http.StatusServiceUnavailable)
			return
		}
		var onward net.Conn
		if !isService {
			var err error
			dialer := net.Dialer{Timeout: dialTimeout}
			if onward, err = dialer.DialContext(r.Context(), "tcp", r.Host); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			_ = conn.Close()
			return
		}
		if onward != nil {
			pipe(conn, onward)
			return
		}
		inner.put(serviceConn{Conn: conn, target: target})
	})
}

// pipe copies in both directions until one side ends.
func pipe(a, b net.Conn) {
	done := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			done <- struct{}{}
		}()
	}
	<-done
	_ = a.Close()
	_ = b.Close()
}

// serviceConn is a connection of the API server to a Service.
type serviceConn struct {
	net.Conn

	target backend
}

// queue is a listener whose connections are put in by connect.
type queue struct {
	connections chan net.Conn
	closed      chan struct{}
}

func newQueue() *queue { return &queue{connections: make(chan net.Conn), closed: make(chan struct{})} }

func (q *queue) put(conn net.Conn) {
	select {
	case q.connections <- conn:
	case <-q.closed:
		_ = conn.Close()
	}
}

// Accept returns the next connection.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.connections:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. It is called once, by the server.
func (q *queue) Close() error {
	select {
	case <-q.closed:
		return errors.New("closed already")
	default:
		close(q.closed)
		return nil
	}
}

// Addr is that of no network.
func (q *queue) Addr() net.Addr { return &net.UnixAddr{Name: "services", Net: "unix"} }
