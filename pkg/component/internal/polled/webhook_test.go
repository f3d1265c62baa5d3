package polled

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

func TestAWebhookAcceptsSignedCallsOnly(t *testing.T) {
	secret := []byte("s3cret")
	var accepted []string
	options := WebhookOptions{
		Route: func(r *http.Request) (types.NamespacedName, bool) {
			name := strings.TrimPrefix(r.URL.Path, "/")
			return key(name), name != "unknown"
		},
		Secret: func(_ context.Context, name types.NamespacedName) ([]byte, error) {
			switch name.Name {
			case "secretless":
				return nil, nil
			case "unread":
				return nil, errors.New("secret of another tenant: forbidden")
			case "panics":
				panic("a bug")
			}
			return secret, nil
		},
		Accept: func(_ context.Context, name types.NamespacedName, body []byte) error {
			if string(body) == "invalid" {
				return errors.New("want JSON")
			}
			accepted = append(accepted, name.Name+" "+string(body))
			return nil
		},
		MaxBytes: 20,
	}
	window := options
	window.Window = time.Minute
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for _, c := range []struct {
		name, method, path, body, signature, stamp string
		options                                    WebhookOptions
		want                                       int
		text                                       string
	}{
		{name: "signed", path: "/a", body: "x", want: 202, signature: Sign(secret, []byte("x"))},
		{name: "unsigned", path: "/a", body: "x", want: 401, text: errSignature.Error()},
		{name: "signed with another key", path: "/a", body: "x", want: 401, signature: Sign([]byte("no"), []byte("x"))},
		{name: "signature of another body", path: "/a", body: "y", want: 401, signature: Sign(secret, []byte("x"))},
		{name: "cut signature", path: "/a", body: "x", want: 401, signature: Sign(secret, []byte("x"))[:20]},
		{
			name: "unknown component", path: "/unknown", body: "x", want: 401, signature: Sign(secret, []byte("x")),
			text: errSignature.Error(),
		},
		{name: "empty secret", path: "/secretless", body: "x", want: 401, signature: Sign(nil, []byte("x"))},
		{
			name: "secret that cannot be read", path: "/unread", body: "x", want: 401, signature: Sign(secret, []byte("x")),
			text: errSignature.Error(),
		},
		{name: "panic", path: "/panics", body: "x", want: 401, signature: Sign(secret, []byte("x"))},
		{name: "large body", path: "/a", body: strings.Repeat("x", 21), want: 413, signature: Sign(secret, nil)},
		{name: "no POST", method: http.MethodGet, path: "/a", want: 405},
		{
			name: "invalid value", path: "/a", body: "invalid", want: 400, signature: Sign(secret, []byte("invalid")),
			text: "want JSON",
		},
		{name: "without a time", path: "/a", body: "x", want: 401, signature: Sign(secret, []byte("x")), options: window},
		{
			name: "in time", path: "/a", body: "y", stamp: now, want: 202, signature: Sign(secret, []byte(now+".y")),
			options: window,
		},
		{
			name: "old", path: "/a", body: "y", stamp: "1000", want: 401, signature: Sign(secret, []byte("1000.y")),
			options: window,
		},
	} {
		if c.options.Route == nil {
			c.options = options
		}
		if c.method == "" {
			c.method = http.MethodPost
		}
		request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, bytes.NewBufferString(c.body))
		request.Header.Set(SignatureHeader, c.signature)
		request.Header.Set(TimestampHeader, c.stamp)
		recorder := httptest.NewRecorder()
		NewWebhook(c.options).ServeHTTP(recorder, request)
		if recorder.Code != c.want || c.text != "" && strings.TrimSpace(recorder.Body.String()) != c.text {
			t.Errorf("%s: %d %s, want %d %s", c.name, recorder.Code, recorder.Body, c.want, c.text)
		}
	}
	if got := strings.Join(accepted, ", "); got != "a x, a y" {
		t.Errorf("accepted: %s", got)
	}
}

func TestCallsThatFailForAWhileAreAnsweredWithADelay(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	down := &url.Error{Op: "Get", URL: "https://api", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name           string
		secret, accept error
		want           int
		retry, text    string
		isLogged       bool
	}{
		{name: "the API server is unreachable", secret: down, want: 503, retry: "1", isLogged: true},
		{name: "the API server is slow", secret: context.DeadlineExceeded, want: 503, retry: "1", isLogged: true},
		{
			name: "the API server is overloaded", secret: apierrors.NewTooManyRequests("busy", 7), want: 503, retry: "7",
			isLogged: true,
		},
		{
			name: "the API server fails", secret: apierrors.NewInternalError(errors.New("etcd")), want: 503, retry: "1",
			isLogged: true,
		},
		{
			name: "own credentials expired", secret: apierrors.NewUnauthorized("expired"), want: 503, retry: "1",
			isLogged: true,
		},
		{
			name: "the reconciler has not started", want: 503, retry: "5", isLogged: true,
			secret: &passerror.Retry{Cause: errors.New("not started"), After: 5 * time.Second},
		},
		{
			name: "no Secret", secret: apierrors.NewNotFound(secrets, "key"), want: 401, text: errSignature.Error(),
			isLogged: true,
		},
		{
			name: "forbidden", secret: apierrors.NewForbidden(secrets, "key", nil), want: 401, text: errSignature.Error(),
			isLogged: true,
		},
		{name: "a value is not stored yet", accept: down, want: 503, retry: "1", isLogged: true},
		{
			name: "another write was first", accept: apierrors.NewConflict(secrets, "key", nil), want: 503, retry: "1",
			isLogged: true,
		},
		{name: "an invalid value", accept: errors.New("want a number"), want: 400, text: "want a number"},
	} {
		var logged []string
		logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
		handler := NewWebhook(WebhookOptions{
			Route:  func(*http.Request) (types.NamespacedName, bool) { return key("a"), true },
			Secret: func(context.Context, types.NamespacedName) ([]byte, error) { return []byte("s3cret"), c.secret },
			Accept: func(context.Context, types.NamespacedName, []byte) error { return c.accept },
		})
		var answer *httptest.ResponseRecorder
		for range 3 {
			request := httptest.NewRequestWithContext(log.IntoContext(t.Context(), logger), http.MethodPost, "/a",
				strings.NewReader("x"))
			request.Header.Set(SignatureHeader, Sign([]byte("s3cret"), []byte("x")))
			answer = httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
		}
		if answer.Code != c.want || answer.Header().Get("Retry-After") != c.retry {
			t.Errorf("%s: %d, Retry-After %q", c.name, answer.Code, answer.Header().Get("Retry-After"))
		}
		if text := strings.TrimSpace(answer.Body.String()); c.text != "" && text != c.text || strings.Contains(text,
			"secrets") {
			t.Errorf("%s: the caller learns: %s", c.name, text)
		}
		all := strings.ReplaceAll(strings.Join(logged, "\n"), `\"`, `"`)
		if (len(logged) == 1) != c.isLogged || len(logged) > 1 || strings.Contains(all, "s3cret") {
			t.Errorf("%s: three calls logged %q", c.name, logged)
		}
		if cause := errors.Join(c.secret, c.accept); c.isLogged &&
			(!strings.Contains(all, cause.Error()) || !strings.Contains(all, `"name"="a"`)) {
			t.Errorf("%s: the log lacks the cause or the component: %s", c.name, all)
		}
	}
}

// counting counts the bytes that are read.
type counting struct {
	io.Reader
	read int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

func TestTheBodyOfAnUnsignedCallTellsNothingOfComponents(t *testing.T) {
	handler := NewWebhook(WebhookOptions{
		Route: func(r *http.Request) (types.NamespacedName, bool) {
			return key(r.URL.Path[1:]), r.URL.Path != "/nowhere"
		},
		Secret: func(_ context.Context, name types.NamespacedName) ([]byte, error) {
			switch name.Name {
			case "known":
				return []byte("key"), nil
			case "unread":
				return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "key")
			}
			return nil, nil
		},
		MaxBytes: 100,
	})
	cut := func() io.Reader {
		reader, writer := io.Pipe()
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
		return reader
	}
	for _, path := range []string{"/known", "/unknown", "/unread", "/nowhere"} {
		for _, c := range []struct {
			name, signature string
			body            io.Reader
			want, read      int
		}{
			{"without a signature", "", strings.NewReader("x"), 401, 0},
			{"with a short signature", "sha256=00", strings.NewReader("x"), 401, 0},
			{"with a wrong signature", Sign([]byte("guess"), nil), strings.NewReader("x"), 401, 1},
			{"with an empty key", Sign(nil, []byte("x")), strings.NewReader("x"), 401, 1},
			{"with a declared size that is too large", Sign(nil, nil), strings.NewReader(strings.Repeat("x", 200)), 413, 0},
			{"with a body that is too large", Sign(nil, nil), io.LimitReader(endless{}, 1<<20), 413, 101},
			{"with a body that ends early", Sign(nil, nil), cut(), 400, 0},
		} {
			body := &counting{Reader: c.body}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
			if sized, ok := c.body.(*strings.Reader); ok {
				request.ContentLength = int64(sized.Len())
			}
			request.Header.Set(SignatureHeader, c.signature)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.want || body.read > c.read {
				t.Errorf("%s %s: status %d, want %d, and %d bytes read", path, c.name, answer.Code, c.want, body.read)
			}
		}
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestADiscardedBodyIsVerified(t *testing.T) {
	var accepted [][]byte
	handler := NewWebhook(WebhookOptions{
		Route:  func(*http.Request) (types.NamespacedName, bool) { return key("a"), true },
		Secret: func(context.Context, types.NamespacedName) ([]byte, error) { return []byte("key"), nil },
		Accept: func(_ context.Context, _ types.NamespacedName, body []byte) error {
			accepted = append(accepted, body)
			return nil
		},
		DiscardBody: true, MaxBytes: 1 << 20,
	})
	body := bytes.Repeat([]byte("x"), 1<<20)
	for _, c := range []struct {
		sent, signed []byte
		want         int
	}{
		{body, body, 202},
		{body[:100], body, 401},
		{append(bytes.Clone(body), 'x'), append(bytes.Clone(body), 'x'), 413},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", bytes.NewReader(c.sent))
		request.Header.Set(SignatureHeader, Sign([]byte("key"), c.signed))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != c.want {
			t.Errorf("%d bytes: status %d, want %d", len(c.sent), answer.Code, c.want)
		}
	}
	if len(accepted) != 1 || len(accepted[0]) > 0 {
		t.Errorf("accepted: %v", accepted)
	}
}

func TestBodiesInMemoryAreLimited(t *testing.T) {
	handler := NewWebhook(WebhookOptions{
		Route:  func(*http.Request) (types.NamespacedName, bool) { return key("a"), true },
		Secret: func(context.Context, types.NamespacedName) ([]byte, error) { return []byte("key"), nil },
		Accept: func(context.Context, types.NamespacedName, []byte) error { return nil },
	})
	call := func(body io.Reader) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", body)
		request.Header.Set(SignatureHeader, Sign([]byte("key"), nil))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	started, answers := make(chan struct{}, maxBodies), make(chan int, maxBodies)
	var writers []*io.PipeWriter
	for range maxBodies {
		reader, writer := io.Pipe()
		writers = append(writers, writer)
		go func() { answers <- call(reader) }()
		go func() {
			_, _ = writer.Write([]byte("x"))
			started <- struct{}{}
		}()
	}
	for range maxBodies {
		<-started
	}
	if status := call(http.NoBody); status != http.StatusServiceUnavailable {
		t.Errorf("a call too many: status %d", status)
	}
	for _, writer := range writers {
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
		if status := <-answers; status != http.StatusBadRequest {
			t.Errorf("a body that ended early: status %d", status)
		}
	}
	if status := call(http.NoBody); status != http.StatusAccepted {
		t.Errorf("a call afterwards: status %d", status)
	}
}

func TestCallsForAComponentAreAcceptedOneAfterTheOther(t *testing.T) {
	var mu sync.Mutex
	running, most := map[types.NamespacedName]int{}, map[types.NamespacedName]int{}
	var release chan struct{}
	handler := NewWebhook(WebhookOptions{
		Route:  func(r *http.Request) (types.NamespacedName, bool) { return key(r.URL.Path[1:]), true },
		Secret: func(context.Context, types.NamespacedName) ([]byte, error) { return []byte("s3cret"), nil },
		Accept: func(_ context.Context, name types.NamespacedName, _ []byte) error {
			mu.Lock()
			running[name]++
			most[name] = max(most[name], running[name])
			mu.Unlock()
			<-release
			mu.Lock()
			defer mu.Unlock()
			running[name]--
			return nil
		},
	})
	call := func(ctx context.Context, path string) int {
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader("x"))
		request.Header.Set(SignatureHeader, Sign([]byte("s3cret"), []byte("x")))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		var calls sync.WaitGroup
		for _, path := range []string{"/a", "/a", "/a", "/b"} { // A fourth call for a may wait.
			calls.Go(func() {
				if code := call(t.Context(), path); code != http.StatusAccepted {
					t.Errorf("%s: status %d", path, code)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if code := call(ctx, "/a"); code != http.StatusServiceUnavailable {
			t.Errorf("status %d for a call that ends while it waits, want 503", code)
		}
		calls.Go(func() { call(t.Context(), "/a") })
		synctest.Wait()
		if code := call(t.Context(), "/a"); code != http.StatusServiceUnavailable {
			t.Errorf("status %d for one call too many, want 503", code)
		}
		if running[key("a")] != 1 || running[key("b")] != 1 {
			t.Errorf("calls that run: %v, want one for each component", running)
		}
		close(release)
		calls.Wait()
	})
	if most[key("a")] != 1 {
		t.Errorf("%d calls for a component at the same time", most[key("a")])
	}
	if w, ok := handler.(*webhook); ok && len(w.order.of) > 0 {
		t.Errorf("components are left in memory: %v", w.order.of)
	}
}
