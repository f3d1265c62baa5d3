package external_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// recordSpec and record are the spec and the observed state of a DNS record.
type recordSpec struct {
	Host   string   `json:"host"`
	TTL    int      `json:"ttl,omitempty"`
	Values []string `json:"values,omitempty"`
}

type record struct {
	recordSpec

	Token  string `json:"token,omitempty"`
	Serial int    `json:"serial"`
}

// zone is an external system: records by id.
type zone struct {
	mu      sync.Mutex
	records map[string]record
	// fail is returned by all calls, and lost by Create after it created the record.
	fail, lost error
	account    external.Account
}

func (z *zone) Observe(_ context.Context, r external.Ref[recordSpec]) (*record, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	found, ok := z.records[r.ID]
	switch {
	case z.fail != nil:
		return nil, z.fail
	case !ok:
		return nil, fmt.Errorf("record %s: %w", r.ID, external.ErrNotFound)
	}
	return &found, nil
}

// observer is a kind with Observe alone.
type observer struct{ *zone }

// full is a kind with all interfaces but Identifier.
type full struct{ *zone }

func (f full) Create(_ context.Context, r external.Ref[recordSpec]) (external.Created[*record], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return external.Created[*record]{}, f.fail
	}
	for _, found := range f.records {
		if found.Host == r.Spec.Host {
			return external.Created[*record]{}, external.ErrExists
		}
	}
	id := fmt.Sprintf("rec-%d", len(f.records)+1)
	created := record{recordSpec: r.Spec, Token: r.Token, Serial: 1}
	f.records[id] = created
	return external.Created[*record]{ID: id, State: []byte("etag-1"), Observed: &created}, f.lost
}

func (f full) Update(_ context.Context, r external.Ref[recordSpec], observed *record) (*record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	updated := record{recordSpec: r.Spec, Token: observed.Token, Serial: observed.Serial + 1}
	f.records[r.ID] = updated
	return &updated, nil
}

func (f full) Delete(_ context.Context, r external.Ref[recordSpec]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, found := f.records[r.ID]; !found {
		return external.ErrNotFound
	}
	delete(f.records, r.ID)
	return f.fail
}

func (f full) Find(_ context.Context, r external.Ref[recordSpec]) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, found := range f.records {
		if found.Token == r.Token {
			return id, true, nil
		}
	}
	return "", false, f.fail
}

func (f full) List(_ context.Context, a external.Account) (map[string]*record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.account = a
	listed := map[string]*record{"nothing": nil}
	for id, found := range f.records {
		listed[id] = &found
	}
	return listed, f.fail
}

func (full) Token(observed *record) string { return observed.Token }

func (full) ImmutableChanges(applied, desired recordSpec) []string {
	if applied.Host != desired.Host {
		return []string{"spec.host"}
	}
	return nil
}

func (full) Validate(spec recordSpec) error {
	if strings.HasPrefix(spec.Host, "*") {
		return errors.New("spec.host: wildcards are not supported; name the host")
	}
	return nil
}

func (full) Ready(observed *record) (bool, string) {
	return observed.Serial > 1, fmt.Sprintf("serial %d is not published", observed.Serial)
}

func (full) PollAfter(observed *record) time.Duration {
	return time.Duration(observed.Serial) * time.Minute
}

// named is a kind whose ids are the hosts of the records. It cannot be updated.
type named struct{ *zone }

func (named) Identify(spec recordSpec) string { return spec.Host }

func (n named) Create(_ context.Context, r external.Ref[recordSpec]) (external.Created[*record], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	created := record{recordSpec: r.Spec, Token: r.Token}
	n.records[r.Spec.Host] = created
	return external.Created[*record]{Observed: &created}, nil
}

func (named) Token(observed *record) string { return observed.Token }

var credentials = generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "prod", Name: "dns"}

// requestFor returns a request with the given id, spec and applied spec.
func requestFor(id, spec, applied string) external.Request {
	r := external.Request{
		Component: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Shop",
			"metadata": map[string]any{"namespace": "prod", "name": "shop", "uid": "u-1", "generation": int64(3)},
		}},
		Key:        manifests.Key{Group: external.Group, Kind: "Record", Name: "www"},
		Spec:       []byte(spec),
		ID:         id,
		Token:      strings.Repeat("ab", 20),
		References: generator.References{credentials: {"password": []byte("hunter2")}},
	}
	if applied != "" {
		r.Applied = []byte(applied)
	}
	return r
}
