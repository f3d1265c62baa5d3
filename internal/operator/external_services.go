package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// maxExternalCalls is the maximum number of concurrent calls to services of externals for the components of a
// namespace.
const maxExternalCalls = 16

// externalServices makes the drivers of the services in the specs of Components. Components of a namespace with the
// same settings share a driver while one of them uses it.
type externalServices struct {
	mu      sync.Mutex
	drivers map[externalKey]weak.Pointer[externalService]
	slots   map[string]weak.Pointer[callSlots]
}

// externalKey identifies a driver: the namespace of its credentials, and the JSON form of its settings.
type externalKey struct{ namespace, settings string }

// callSlots limits the concurrent calls for a namespace.
type callSlots struct{ free chan struct{} }

// hasExternals reports whether a component in a cache has externals.
func hasExternals(ctx context.Context, components client.Reader, name types.NamespacedName) bool {
	c := &v1alpha1.Component{}
	return components.Get(ctx, name, c) == nil && len(c.Spec.Externals) > 0
}

func newExternalServices() *externalServices {
	return &externalServices{
		drivers: map[externalKey]weak.Pointer[externalService]{}, slots: map[string]weak.Pointer[callSlots]{},
	}
}

// of implements component.Options.ExternalsOf.
func (s *externalServices) of(obj client.Object) ([]external.Driver, error) {
	c, ok := obj.(*v1alpha1.Component)
	if !ok || len(c.Spec.Externals) == 0 {
		return nil, nil
	}
	drivers := make([]external.Driver, 0, len(c.Spec.Externals))
	var errs []error
	for _, spec := range c.Spec.Externals {
		d, err := s.driver(c.Namespace, spec)
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.externals[%s].service: %w", spec.Kind, err))
			continue
		}
		drivers = append(drivers, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return drivers, nil
}

// driver returns the driver with the given settings.
func (s *externalServices) driver(namespace string, spec v1alpha1.External) (*externalService, error) {
	settings, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	key := externalKey{namespace, string(settings)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.drivers[key].Value(); known != nil {
		return known, nil
	}
	made := &externalService{namespace: namespace, info: infoOf(spec), spec: spec.Service}
	// The description of the URL needs no credentials.
	if made.latest, err = external.Service(made.info, external.ServiceOptions{URL: spec.Service.URL}); err != nil {
		return nil, err
	}
	made.info = made.latest.Info()
	if made.slots = s.slots[namespace].Value(); made.slots == nil {
		made.slots = &callSlots{free: make(chan struct{}, maxExternalCalls)}
		s.slots[namespace] = weak.Make(made.slots)
	}
	s.drivers[key] = weak.Make(made)
	s.forgetUnused()
	return made, nil
}

// forgetUnused drops the keys of drivers and slots that nothing uses. The caller holds the lock.
func (s *externalServices) forgetUnused() {
	for key, d := range s.drivers {
		if d.Value() == nil {
			delete(s.drivers, key)
		}
	}
	for namespace, slots := range s.slots {
		if slots.Value() == nil {
			delete(s.slots, namespace)
		}
	}
}

// infoOf returns the description of a kind in a spec.
func infoOf(spec v1alpha1.External) external.Info {
	service := spec.Service
	info := external.Info{
		Kind: spec.Kind, Timeout: valueOf(service.Timeout), Poll: valueOf(service.Poll),
		IdempotentFor: valueOf(service.IdempotentFor), Concurrency: int(service.Concurrency), Rate: float64(service.Rate),
	}
	if s := service.Settle; s != nil {
		if info.Settle = s.Duration; info.Settle == 0 {
			info.Settle = -1 // A negative value means no settle time.
		}
	}
	methods := service.Methods
	if len(methods) == 0 {
		methods = []v1alpha1.ExternalMethod{
			v1alpha1.ExternalCreate, v1alpha1.ExternalUpdate, v1alpha1.ExternalDelete,
		}
	}
	for _, method := range methods {
		switch method {
		case v1alpha1.ExternalCreate:
			info.Creates = true
		case v1alpha1.ExternalUpdate:
			info.Updates = true
		case v1alpha1.ExternalDelete:
			info.Deletes = true
		case v1alpha1.ExternalFind:
			info.Finds = true
		case v1alpha1.ExternalList:
			info.Lists = true
		}
	}
	return info
}

func valueOf(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// externalService is a driver that calls the service in the spec of a Component. Each call has the credentials of its
// component, as the reconciler read them.
type externalService struct {
	namespace string
	info      external.Info
	spec      v1alpha1.ExternalService
	slots     *callSlots

	mu sync.Mutex
	// latest is the driver for the credentials with the digest of. It is never nil.
	latest external.Driver
	of     [sha256.Size]byte
}

var (
	_ external.Driver   = (*externalService)(nil)
	_ external.Referrer = (*externalService)(nil)
)

// Info implements external.Driver.
func (s *externalService) Info() external.Info { return s.info }

// References implements external.Referrer.
func (s *externalService) References() []metav1alpha1.Reference { return s.spec.References() }

// Check implements external.Driver. Without credentials, which a check of manifests does not have, it does not check
// them. The account has the namespace in its name, because the limits in the spec of a Component must not slow down the
// calls of other namespaces.
func (s *externalService) Check(r external.Request) external.Findings {
	findings := s.check(r)
	findings.Account = s.namespace + " " + findings.Account
	return findings
}

func (s *externalService) check(r external.Request) external.Findings {
	d, err := s.with(r)
	if err == nil {
		return d.Check(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	findings := s.latest.Check(r)
	if len(r.Credentials) > 0 {
		findings.Invalid = err
	}
	return findings
}

// with returns the driver for the credentials of a request.
func (s *externalService) with(r external.Request) (external.Driver, error) {
	o := external.ServiceOptions{URL: s.spec.URL}
	c := credentials{namespace: s.namespace, references: r.Credentials}
	if ref := s.spec.CARef; ref != nil {
		o.CA = c.read("caRef", ref.KindOrDefault(), ref.Name, ref.Key, defaultCAKey)
	}
	if ref := s.spec.TokenRef; ref != nil {
		o.Token = string(c.read("tokenRef", metav1alpha1.SecretReference, ref.Name, ref.Key, defaultTokenKey))
	}
	if ref := s.spec.ClientCertificateRef; ref != nil {
		o.Certificate = c.read("clientCertificateRef", metav1alpha1.SecretReference, ref.Name, "", certificateKey)
		o.Key = c.read("clientCertificateRef", metav1alpha1.SecretReference, ref.Name, "", certificateKeyKey)
	}
	if c.err != nil {
		return nil, s.explained(c.err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, s.explained(err)
	}
	digest := sha256.Sum256(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == digest {
		return s.latest, nil
	}
	d, err := external.Service(s.info, o)
	if err != nil {
		return nil, s.explained(err)
	}
	s.latest, s.of = d, digest
	return d, nil
}

func (s *externalService) explained(err error) error {
	return fmt.Errorf("spec.externals[%s].service: %w", s.info.Kind, err)
}

// called makes a call when the limit of the namespace permits it.
func called[A any](
	ctx context.Context, s *externalService, r external.Request, call func(external.Driver) (A, error),
) (A, error) {
	var none A
	d, err := s.with(r)
	if err != nil {
		return none, external.Refused(err)
	}
	select {
	case s.slots.free <- struct{}{}:
		defer func() { <-s.slots.free }()
	case <-ctx.Done():
		return none, external.RefusedFor(fmt.Errorf("%d calls to services of the namespace %s are under way, which is "+
			"the maximum; the call was not made", maxExternalCalls, s.namespace), 0)
	}
	return call(d)
}

// Observe implements external.Driver.
func (s *externalService) Observe(ctx context.Context, r external.Request) (external.Answer, error) {
	return called(ctx, s, r, func(d external.Driver) (external.Answer, error) { return d.Observe(ctx, r) })
}

// Create implements external.Driver.
func (s *externalService) Create(ctx context.Context, r external.Request) (external.Answer, error) {
	return called(ctx, s, r, func(d external.Driver) (external.Answer, error) { return d.Create(ctx, r) })
}

// Update implements external.Driver.
func (s *externalService) Update(ctx context.Context, r external.Request) (external.Answer, error) {
	return called(ctx, s, r, func(d external.Driver) (external.Answer, error) { return d.Update(ctx, r) })
}

// Delete implements external.Driver.
func (s *externalService) Delete(ctx context.Context, r external.Request) error {
	_, err := called(ctx, s, r, func(d external.Driver) (struct{}, error) { return struct{}{}, d.Delete(ctx, r) })
	return err
}

// Find implements external.Driver.
func (s *externalService) Find(ctx context.Context, r external.Request) (id string, found bool, err error) {
	id, err = called(ctx, s, r, func(d external.Driver) (id string, err error) {
		id, found, err = d.Find(ctx, r)
		return id, err
	})
	return id, found, err
}

// List implements external.Driver. The externals of an account have the same credentials.
func (s *externalService) List(
	ctx context.Context, a external.Account, externals []external.Request,
) (map[int]external.Answer, error) {
	if len(externals) == 0 {
		return nil, nil
	}
	return called(ctx, s, externals[0], func(d external.Driver) (map[int]external.Answer, error) {
		return d.List(ctx, a, externals)
	})
}
