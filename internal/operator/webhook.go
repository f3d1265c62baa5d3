package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

// WebhookPath is the prefix of the paths of calls: WebhookPath, the namespace, a slash, and the name of a component.
const WebhookPath = "/webhook/"

const (
	// maxCallBytes is the maximum size of the body of a call. The body is not used, but senders such as GitHub send one.
	maxCallBytes = 1 << 20
	// A secret is read again after secretLifetime. The secrets of at most keptSecrets components are kept.
	secretLifetime = 10 * time.Second
	keptSecrets    = 1024
	// maxSecretReads is the number of secrets that are read at the same time, each in at most secretTimeout.
	maxSecretReads = 32
	secretTimeout  = 5 * time.Second
	// The API server is asked at most once in probeLifetime whether it answers.
	probeLifetime = time.Second
	// An equal cause is told again in an Event after toldLifetime.
	toldLifetime = 10 * time.Minute
	// ReasonWebhookKeyUnreadable is the reason of the Event about a key of signatures that cannot be read.
	ReasonWebhookKeyUnreadable = "WebhookKeyUnreadable"
)

// defaultWebhookKey is the default of the key of spec.webhook.secretRef.
const defaultWebhookKey = "value"

// webhooks verifies signed calls to components.
//
// A caller without the key of a component learns nothing about components. An unknown component, a component without
// spec.webhook, a wrong signature, and a key that cannot be read because the Secret is missing or the service account
// may not read it, all get status 401: a repeated call would not help before a person acts. An Event tells the owner of
// the component the cause, and the log tells the administrator. If the API server does not answer, all calls get status
// 503, also those to unknown components: otherwise the status would tell which components exist. The time of an answer
// can still tell that a Secret was read.
type webhooks struct {
	// components reads components from the cache, server from the API server.
	components, server client.Reader
	// readSecret reads a Secret with the rights of a component.
	readSecret func(ctx context.Context, c *v1alpha1.Component, name string) (*corev1.Secret, error)
	recorder   events.EventRecorder

	secrets *lru.Cache
	reads   singleflight.Group
	slots   chan struct{}

	mu       sync.Mutex
	probed   time.Time
	probeErr error
}

// keptSecret is a secret, or the error of its read.
type keptSecret struct {
	secret []byte
	err    error
	until  time.Time
	// told is the last cause in an Event, at the time toldAt.
	told   string
	toldAt time.Time
}

// handler returns the handler of calls. accept is called for each verified call.
func (w *webhooks) handler(accept func(context.Context, types.NamespacedName) error) http.Handler {
	return eventsource.WebhookHandler(eventsource.WebhookOptions{
		Route:       func(r *http.Request) (client.ObjectKey, bool) { return calledComponent(r.URL.Path) },
		Secret:      w.secret,
		MaxBytes:    maxCallBytes,
		DiscardBody: true,
		Accept:      func(ctx context.Context, name client.ObjectKey, _ []byte) error { return accept(ctx, name) },
	})
}

// calledComponent returns the component in the path of a call. ok is false if no component can have this path.
func calledComponent(path string) (name types.NamespacedName, ok bool) {
	name.Namespace, name.Name, _ = strings.Cut(strings.TrimPrefix(path, WebhookPath), "/")
	return name, len(validation.IsDNS1123Label(name.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(name.Name)) == 0
}

// secret returns the key of the signatures for a component. It returns no key if the component is unknown, or has no
// spec.webhook.
func (w *webhooks) secret(ctx context.Context, name types.NamespacedName) ([]byte, error) {
	if err := w.probe(ctx); err != nil {
		return nil, err
	}
	c := &v1alpha1.Component{}
	if err := w.components.Get(ctx, name, c); err != nil {
		if _, ok := errors.AsType[*cache.ErrCacheNotStarted](err); ok || apierrors.IsTimeout(err) {
			return nil, component.RetryAfter(err, 0)
		}
		return nil, nil // No such component, or a namespace that is not watched.
	}
	if c.Spec.Webhook == nil {
		return nil, nil
	}
	id := fmt.Sprint(c.UID, " ", c.Generation)
	last, known := w.kept(id)
	if known && time.Now().Before(last.until) {
		return last.secret, last.err
	}
	// The read is shared by concurrent calls, so it must not end with one of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secretTimeout)
	defer cancel()
	secret, err, _ := w.reads.Do(id, func() (any, error) { return w.read(ctx, c, id, last) })
	key, _ := secret.([]byte)
	return key, err
}

func (w *webhooks) kept(id string) (keptSecret, bool) {
	known, _ := w.secrets.Get(id)
	last, ok := known.(keptSecret)
	return last, ok
}

// probe returns a temporary error if the API server does not answer. All calls ask, also those to unknown components.
func (w *webhooks) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secretTimeout)
	defer cancel()
	_, err, _ := w.reads.Do("probe", func() (any, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if time.Since(w.probed) < probeLifetime {
			return nil, w.probeErr
		}
		name := client.ObjectKey{Namespace: probedNamespace, Name: "webhook-probe"}
		err := w.server.Get(ctx, name, &v1alpha1.Component{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			err = nil
		}
		if err != nil {
			err = component.RetryAfter(fmt.Errorf("the API server does not answer: %w", err), 0)
		}
		w.probed, w.probeErr = time.Now(), err
		return nil, err
	})
	return err
}

// probedNamespace is a namespace that exists in each cluster.
const probedNamespace = "default"

// read reads the key of the signatures for a component, and keeps the result, unless the error is temporary.
func (w *webhooks) read(ctx context.Context, c *v1alpha1.Component, id string, last keptSecret) ([]byte, error) {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	default:
		return nil, component.RetryAfter(errors.New("too many Secrets are read at the same time"), 0)
	}
	secret, err := w.keyOf(ctx, c)
	if err != nil && !isSetting(err) {
		return nil, component.RetryAfter(err, 0)
	}
	now := time.Now()
	kept := keptSecret{secret: secret, err: err, until: now.Add(secretLifetime), told: last.told, toldAt: last.toldAt}
	if err != nil && (err.Error() != last.told || now.Sub(last.toldAt) > toldLifetime) {
		kept.told, kept.toldAt = err.Error(), now
		w.recorder.Eventf(c, nil, corev1.EventTypeWarning, ReasonWebhookKeyUnreadable, "VerifyCall",
			"calls are refused, because the key of their signatures (spec.webhook.secretRef) cannot be read: %v", err)
	}
	w.secrets.Add(id, kept)
	return secret, err
}

// keyError says that a Secret contains no key of signatures.
type keyError string

// Error implements error.
func (e keyError) Error() string { return string(e) }

// isSetting reports whether a Secret cannot be read until somebody changes something: the Secret, a right, or the
// identity in the spec of the component. All other errors are temporary.
func isSetting(err error) bool {
	var status apierrors.APIStatus
	var retry interface{ RetryAfter() time.Duration }
	_, isNetwork := errors.AsType[net.Error](err)
	switch {
	case errors.As(err, &status):
		return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
			apierrors.IsInvalid(err)
	case errors.As(err, &retry), isNetwork, meta.IsNoMatchError(err), discovery.IsGroupDiscoveryFailedError(err):
		return false
	}
	return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

func (w *webhooks) keyOf(ctx context.Context, c *v1alpha1.Component) ([]byte, error) {
	ref := c.Spec.Webhook.SecretRef
	key := ref.Key
	if key == "" {
		key = defaultWebhookKey
	}
	secret, err := w.readSecret(ctx, c, ref.Name)
	if err != nil {
		return nil, err
	}
	if len(secret.Data[key]) == 0 {
		return nil, keyError(fmt.Sprintf("secret %s has no content under the key %q", ref.Name, key))
	}
	return secret.Data[key], nil
}

// secretsOf returns a function that reads a Secret in the namespace of a component, with the rights of the component.
func secretsOf(
	r *component.Reconciler[*v1alpha1.Component],
) func(context.Context, *v1alpha1.Component, string) (*corev1.Secret, error) {
	return func(ctx context.Context, c *v1alpha1.Component, name string) (*corev1.Secret, error) {
		found, err := r.ReadAs(ctx, c, corev1.SchemeGroupVersion.WithKind("Secret"),
			client.ObjectKey{Namespace: c.Namespace, Name: name})
		if err != nil {
			return nil, err
		}
		var secret corev1.Secret
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &secret); err != nil {
			return nil, keyError("the Secret cannot be decoded")
		}
		return &secret, nil
	}
}

// callGap is the minimum time between two polls of a component because of calls, so that repeated calls do not become
// as many requests to other services.
const callGap = 5 * time.Second

// pacer runs a function for each call to a component, at most once in callGap. Calls in the meantime run it once, at
// the end of the gap, so that the function always runs after the last call.
type pacer struct {
	run func(types.NamespacedName)

	mu sync.Mutex
	// gaps contains the components with a gap. The value is set if there was another call.
	gaps map[types.NamespacedName]bool
}

func newPacer(run func(types.NamespacedName)) *pacer {
	return &pacer{run: run, gaps: map[types.NamespacedName]bool{}}
}

// call notes a call.
func (p *pacer) call(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waits := p.gaps[name]; waits {
		p.gaps[name] = true
		return
	}
	p.gaps[name] = false
	p.run(name)
	time.AfterFunc(callGap, func() { p.end(name) })
}

// end ends a gap.
func (p *pacer) end(name types.NamespacedName) {
	p.mu.Lock()
	again := p.gaps[name]
	delete(p.gaps, name)
	p.mu.Unlock()
	if again {
		p.call(name)
	}
}
