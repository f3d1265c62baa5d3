package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

const (
	// maxConnections is the maximum number of connections of callers. Further connections wait.
	maxConnections = 512
	// readTimeout is the maximum time in which a caller sends its call.
	readTimeout = 10 * time.Second
	// dialTimeout and forwardTimeout are the maximum times to reach the leader, and until it answers. writeTimeout is the
	// maximum time from the header of a call to the end of its answer.
	dialTimeout    = 2 * time.Second
	forwardTimeout = 20 * time.Second
	writeTimeout   = 25 * time.Second
	// closeTimeout is the time in which running calls can end when the operator ends.
	closeTimeout = 3 * time.Second
	// maxAnswerBytes is the maximum size of an answer of the leader that is passed on.
	maxAnswerBytes = 1 << 10
	// leaderRetry is the delay after which a caller may repeat a call if no replica reconciles.
	leaderRetry = 5 * time.Second
)

// forwardedHeader marks a call that another replica forwarded. Such a call is not forwarded again.
const forwardedHeader = "X-Fairlead-Forwarded"

// Leader tells where the replica is that reconciles; see package leader.
type Leader interface {
	// Held reports whether this replica reconciles, and no other replica can do so yet.
	Held() bool
	// Other returns the address of another replica that reconciles.
	Other() (address netip.AddrPort, known bool)
}

// replica handles the calls to one replica of the operator. The leader accepts them. The other replicas forward them to
// the leader, once, without verifying them, because only the leader knows the keys.
//
// A call that was answered with status 202 is followed by a poll: if the leader ends before its poll, the next leader
// polls all addresses at its start, after the call. So a call is accepted only while no other replica can be the
// leader.
type replica struct {
	leader    Leader
	calls     http.Handler
	transport http.RoundTripper
	// active is set while the reconciler runs.
	active  atomic.Bool
	warning rate.Sometimes
}

// newReplica returns a replica. leader is nil if there is no leader election.
func newReplica(leader Leader) *replica {
	return &replica{
		leader: leader, warning: rate.Sometimes{Interval: time.Minute},
		transport: &http.Transport{
			// No proxy is used, and no connection is kept, because the leader may close it at any time.
			DialContext:       (&net.Dialer{Timeout: dialTimeout}).DialContext,
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10,
		},
	}
}

// Start implements manager.Runnable. The manager starts it in the leader, with the reconciler.
func (p *replica) Start(ctx context.Context) error {
	p.active.Store(true)
	<-ctx.Done()
	p.active.Store(false)
	return nil
}

// leads reports whether this replica accepts calls.
func (p *replica) leads() bool { return p.active.Load() && (p.leader == nil || p.leader.Held()) }

// errNoLeader is the error of a call to a replica that is not the leader any more.
var errNoLeader = component.RetryAfter(errors.New("this replica is not the leader"), leaderRetry)

// ServeHTTP handles a call.
func (p *replica) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !strings.HasPrefix(r.URL.Path, WebhookPath):
		http.NotFound(w, r)
	case p.leads():
		p.calls.ServeHTTP(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send a POST request", http.StatusMethodNotAllowed)
	case r.Header.Get(forwardedHeader) != "" || p.leader == nil:
		answerNoLeader(w)
	default:
		p.forward(w, r)
	}
}

// answerNoLeader answers that no replica accepts calls at the moment.
func answerNoLeader(w http.ResponseWriter) {
	w.Header().Set("Retry-After", strconv.Itoa(int(leaderRetry/time.Second)))
	http.Error(w, "the call cannot be handled at the moment; send it again later", http.StatusServiceUnavailable)
}

// answerTooLarge, answerEnded and answerUnsigned answer as the leader does.
func answerTooLarge(w http.ResponseWriter) {
	http.Error(w, fmt.Sprintf("the body is larger than %d bytes", maxCallBytes), http.StatusRequestEntityTooLarge)
}

func answerEnded(w http.ResponseWriter) {
	http.Error(w, "the request ended early", http.StatusBadRequest)
}

func answerUnsigned(w http.ResponseWriter) {
	http.Error(w, "the signature is missing or wrong", http.StatusUnauthorized)
}

// forward sends a call to the leader, and passes its answer on. A call without a signature is not sent, because the
// leader would close the connection before it has read the body.
func (p *replica) forward(w http.ResponseWriter, r *http.Request) {
	name, ok := calledComponent(r.URL.Path)
	switch {
	case !ok || !hasSignature(r):
		answerUnsigned(w)
		return
	case r.ContentLength > maxCallBytes:
		answerTooLarge(w)
		return
	}
	leader, known := p.leader.Other()
	if !known {
		answerNoLeader(w)
		return
	}
	// The context of the request ends if the caller closes its half of the connection, even after a complete call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), forwardTimeout)
	defer cancel()
	response, err := p.transport.RoundTrip(forwarded(ctx, w, r, leader, name))
	if err != nil {
		p.answerNotForwarded(w, r, err, "component", name, "leader", leader.String())
		return
	}
	defer func() { _ = response.Body.Close() }()
	passOn(w, response)
}

// hasSignature reports whether the header of the signature has the form of one.
func hasSignature(r *http.Request) bool {
	given, signed := strings.CutPrefix(r.Header.Get(eventsource.SignatureHeader), "sha256=")
	signature, err := hex.DecodeString(given)
	return signed && err == nil && len(signature) == sha256.Size
}

// answerNotForwarded answers a call that did not reach the leader. It logs the cause, unless it is the caller.
func (p *replica) answerNotForwarded(w http.ResponseWriter, r *http.Request, err error, about ...any) {
	_, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	_, isEnded := errors.AsType[bodyError](err)
	switch {
	case isTooLarge:
		answerTooLarge(w)
	case isEnded:
		answerEnded(w)
	default:
		p.warning.Do(func() {
			log.FromContext(r.Context()).Info("a webhook call could not be forwarded to the leader",
				append(about, "cause", err.Error())...)
		})
		answerNoLeader(w)
	}
}

// callBody is the body of a call. Its errors are bodyErrors, which tell them from those of the connection to the
// leader.
type callBody struct{ io.ReadCloser }

// bodyError is an error of the body of a call.
type bodyError struct{ error }

// Unwrap returns the error of the body.
func (e bodyError) Unwrap() error { return e.error }

// Read implements io.Reader.
func (b callBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError{err}
	}
	return n, err
}

// forwarded returns the request that forwards a call. The request contains only those parts of the call that the leader
// uses.
func forwarded(
	ctx context.Context, w http.ResponseWriter, r *http.Request, leader netip.AddrPort, name types.NamespacedName,
) *http.Request {
	request := &http.Request{
		Method: http.MethodPost,
		URL:    &url.URL{Scheme: "http", Host: leader.String(), Path: WebhookPath + name.Namespace + "/" + name.Name},
		Header: http.Header{
			eventsource.SignatureHeader: {r.Header.Get(eventsource.SignatureHeader)}, forwardedHeader: {"1"},
		},
		Body: http.NoBody, ContentLength: r.ContentLength,
	}
	if r.ContentLength != 0 {
		request.Body = callBody{http.MaxBytesReader(w, r.Body, maxCallBytes)}
	}
	return request.WithContext(ctx)
}

// passOn answers as the leader did.
func passOn(w http.ResponseWriter, response *http.Response) {
	if !slices.Contains([]int{
		http.StatusAccepted, http.StatusBadRequest, http.StatusUnauthorized, http.StatusRequestEntityTooLarge,
		http.StatusServiceUnavailable,
	}, response.StatusCode) {
		answerNoLeader(w)
		return
	}
	for _, header := range []string{"Retry-After", "Content-Type", "X-Content-Type-Options"} {
		if value := response.Header.Get(header); value != "" {
			w.Header().Set(header, value)
		}
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(response.Body, maxAnswerBytes))
}

// webhookServer serves calls in each replica.
type webhookServer struct {
	address string
	handler http.Handler
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (webhookServer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s webhookServer) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen for webhook calls: %w", err)
	}
	logger := log.FromContext(ctx)
	logger.Info("listening for webhook calls", "address", listener.Addr().String())
	server := &http.Server{
		Handler: s.handler, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelDebug),
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if server.Shutdown(bound) != nil {
			_ = server.Close()
		}
	})
	err = server.Serve(netutil.LimitListener(listener, maxConnections))
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
