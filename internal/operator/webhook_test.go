package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

// stored are the components that a reader finds.
type stored struct {
	client.Reader
	components map[types.NamespacedName]*v1alpha1.Component
	failure    atomic.Pointer[error]
	reads      atomic.Int64
}

func (s *stored) fail(err error) { s.failure.Store(&err) }

func (s *stored) Get(_ context.Context, name types.NamespacedName, obj client.Object, _ ...client.GetOption) error {
	s.reads.Add(1)
	if failure := s.failure.Load(); failure != nil && *failure != nil {
		return *failure
	}
	found := s.components[name]
	into, ok := obj.(*v1alpha1.Component)
	if found == nil || !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "components"}, name.Name)
	}
	found.DeepCopyInto(into)
	return nil
}

// verifier is a webhook with two components: shop/a has spec.webhook, shop/b has none.
type verifier struct {
	*webhooks
	cached, server *stored
	recorder       *events.FakeRecorder
	reads          atomic.Int64
	// read returns the Secret of shop/a.
	read func(ctx context.Context) (*corev1.Secret, error)

	mu       sync.Mutex
	accepted []string
}

func newVerifier() *verifier {
	called := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "1", Generation: 1}}
	called.Spec.Webhook = &v1alpha1.Webhook{SecretRef: v1alpha1.SecretKeyReference{Name: "caller"}}
	v := &verifier{
		cached: &stored{components: map[types.NamespacedName]*v1alpha1.Component{
			{Namespace: "shop", Name: "a"}: called,
			{Namespace: "shop", Name: "b"}: {ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}},
		}},
		server: &stored{}, recorder: events.NewFakeRecorder(10),
		read: func(context.Context) (*corev1.Secret, error) {
			return &corev1.Secret{Data: map[string][]byte{"value": []byte("s3cret")}}, nil
		},
	}
	v.webhooks = &webhooks{
		components: v.cached, server: v.server, recorder: v.recorder, secrets: lru.New(keptSecrets),
		slots: make(chan struct{}, maxSecretReads),
		readSecret: func(ctx context.Context, _ *v1alpha1.Component, _ string) (*corev1.Secret, error) {
			v.reads.Add(1)
			return v.read(ctx)
		},
	}
	return v
}

func (v *verifier) accept(_ context.Context, name types.NamespacedName) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.accepted = append(v.accepted, name.String())
	return nil
}

// call sends a call, and returns the answer as one line.
func (v *verifier) call(ctx context.Context, path, secret string) string {
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader("{}"))
	request.Header.Set(eventsource.SignatureHeader, eventsource.Sign([]byte(secret), []byte("{}")))
	answer := httptest.NewRecorder()
	v.handler(v.accept).ServeHTTP(answer, request)
	return strings.TrimSpace(fmt.Sprint(answer.Code, " ", answer.Header().Get("Retry-After"), " ", answer.Body))
}

const (
	refused  = "401  the signature is missing or wrong"
	retried  = "503 1 the call cannot be handled at the moment; send it again later"
	accepted = "202"
)

func TestACallerLearnsNothingOfComponents(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "caller", errors.New("no right"))
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "caller")
	down := &url.Error{Op: "Get", URL: "https://api", Err: errors.New("connection refused")}
	failing := func(err error) func(*verifier) {
		return func(v *verifier) { v.read = func(context.Context) (*corev1.Secret, error) { return nil, err } }
	}
	for _, c := range []struct {
		name    string
		prepare func(*verifier)
		// known and unknown are the answers to callers with the key, and to callers who guess names.
		known, unknown, event string
	}{
		{name: "all is well", prepare: func(*verifier) {}, known: accepted, unknown: refused},
		{
			name: "no Secret", prepare: failing(missing), known: refused, unknown: refused,
			event: `secrets "caller" not found`,
		},
		{
			name: "a Secret that the account may not read", prepare: failing(forbidden), known: refused, unknown: refused,
			event: `secrets "caller" is forbidden: no right`,
		},
		{
			name: "a Secret without the key", known: refused, unknown: refused,
			prepare: func(v *verifier) {
				v.read = func(context.Context) (*corev1.Secret, error) { return &corev1.Secret{}, nil }
			},
			event: `secret caller has no content under the key "value"`,
		},
		{name: "no API server", prepare: func(v *verifier) { v.server.fail(down) }, known: retried, unknown: retried},
		{
			name: "an API server that fails for the Secret", prepare: failing(apierrors.NewInternalError(down)), known: retried,
			unknown: refused,
		},
		{name: "discovery that failed", prepare: failing(&meta.NoKindMatchError{}), known: retried, unknown: refused},
		{
			name: "a reconciler that has not started", prepare: failing(component.RetryAfter(errors.New("not started"), 0)),
			known: retried, unknown: refused,
		},
		{
			name: "an identity that cannot be used", prepare: failing(errors.New("name a service account or a user, not both")),
			known: refused, unknown: refused, event: "name a service account or a user, not both",
		},
		{
			name: "before the cache is filled", known: retried, unknown: retried,
			prepare: func(v *verifier) { v.cached.fail(&cache.ErrCacheNotStarted{}) },
		},
		{
			name: "a namespace that is not watched", known: refused, unknown: refused,
			prepare: func(v *verifier) { v.cached.fail(errors.New("unknown namespace for the cache")) },
		},
	} {
		v := newVerifier()
		c.prepare(v)
		for _, path := range []string{"/webhook/shop/b", "/webhook/shop/none", "/webhook/none/a"} {
			if got := v.call(t.Context(), path, "s3cret"); got != c.unknown {
				t.Errorf("%s: call of %s: %s, want %s", c.name, path, got, c.unknown)
			}
		}
		for range 3 {
			if got := v.call(t.Context(), "/webhook/shop/a", "s3cret"); got != c.known {
				t.Errorf("%s: call with the key: %s, want %s", c.name, got, c.known)
			}
		}
		if v.server.reads.Load() != 1 {
			t.Errorf("%s: six calls asked the API server %d times whether it answers", c.name, v.server.reads.Load())
		}
		var told []string
		for len(v.recorder.Events) > 0 {
			told = append(told, <-v.recorder.Events)
		}
		if len(told) > 1 || (len(told) == 1) != (c.event != "") || c.event != "" && !strings.HasSuffix(told[0], c.event) {
			t.Errorf("%s: events %q, want %q", c.name, told, c.event)
		}
	}
}

func TestOddPathsNameNoComponent(t *testing.T) {
	v := newVerifier()
	// The cache finds shop/a under an empty namespace, too.
	v.cached.components[types.NamespacedName{Name: "shop/a"}] = v.cached.components[types.NamespacedName{
		Namespace: "shop",
		Name:      "a",
	}]
	for _, path := range []string{
		"/webhook/", "/webhook/shop", "/webhook/shop/", "/webhook//shop/a", "/webhook/shop/a/", "/webhook/shop//a",
		"/webhook/shop%2Fa/",
		"/webhook/shop/a%00", "/webhook/shop/a%0a", "/webhook/shop/..%2Fshop%2Fa", "/webhook/SHOP/a",
		"/webhook/shop/" + strings.Repeat("a", 254),
		"/webhook/%2e%2e/a", "/webhook/shop/%F0%9F%9A%A2",
	} {
		if got := v.call(t.Context(), path, "s3cret"); got != refused {
			t.Errorf("%q: %s", path, got)
		}
	}
	if v.cached.reads.Load() != 0 {
		t.Errorf("%d odd paths were looked up", v.cached.reads.Load())
	}
	if got := v.call(t.Context(), "/webhook/%73hop/a?x=/../b#c", "s3cret"); got != accepted {
		t.Errorf("an encoded path: %s", got)
	}
}

func TestASecretIsReadOnceForManyCallsAlsoIfACallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, begun := newVerifier(), make(chan struct{})
		v.read = func(ctx context.Context) (*corev1.Secret, error) {
			close(begun)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return &corev1.Secret{Data: map[string][]byte{"value": []byte("s3cret")}}, nil
			}
		}
		hostile, leave := context.WithCancel(t.Context())
		go v.call(hostile, "/webhook/shop/a", "guessed")
		<-begun
		leave()
		answers := make(chan string, 50)
		for range cap(answers) {
			go func() { answers <- v.call(t.Context(), "/webhook/shop/a", "s3cret") }()
		}
		for range cap(answers) {
			if got := <-answers; got != accepted {
				t.Error(got)
			}
		}
		if v.reads.Load() != 1 {
			t.Errorf("the Secret was read %d times", v.reads.Load())
		}
	})
}

func TestTemporaryErrorsOfASecretAreNotKept(t *testing.T) {
	v := newVerifier()
	read := v.read
	v.read = func(context.Context) (*corev1.Secret, error) { return nil, context.DeadlineExceeded }
	first := v.call(t.Context(), "/webhook/shop/a", "s3cret")
	v.read = read
	if second := v.call(t.Context(), "/webhook/shop/a", "s3cret"); first != retried || second != accepted {
		t.Errorf("answers %q and %q", first, second)
	}
}

func TestCallsAreFollowedByAPollAtMostOnceInTheGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var polls []string
		p := newPacer(func(name types.NamespacedName) {
			polls = append(polls, fmt.Sprint(name.Name, " ", time.Since(began)))
		})
		a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
		p.call(a)
		time.Sleep(time.Second)
		for range 1000 {
			p.call(a)
		}
		p.call(b)
		time.Sleep(time.Minute)
		p.call(a)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if diff := cmp.Diff([]string{"a 0s", "b 1s", "a 5s", "a 1m1s"}, polls); diff != "" {
			t.Error(diff)
		}
		if len(p.gaps) > 0 {
			t.Errorf("%d components are left", len(p.gaps))
		}
	})
}
