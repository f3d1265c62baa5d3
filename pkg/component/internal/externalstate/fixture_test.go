package externalstate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records/secretstest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var update = flag.Bool("update", false, "write the golden files again")

const reconciler = "parts.example.com"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func owner(name string) manifests.Owner {
	return manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: name,
	}
}

// cluster is a fake cluster with a Store.
type cluster struct {
	*secretstest.Server
	*Store
	t *testing.T
	// ending are the namespaces that are being deleted.
	ending []string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Server: secretstest.New(), t: t}
	c.Store = &Store{Records: records.NewStore(records.Options{
		Reconciler: reconciler, Namespace: "operator", Dynamic: c.Dynamic(), Metadata: c.Metadata(),
		Clock:         clocktesting.NewFakePassiveClock(start),
		NamespaceGoes: func(_ context.Context, namespace string) bool { return slices.Contains(c.ending, namespace) },
		VerifyCluster: func(_ context.Context, name types.NamespacedName) error {
			if name.Name == "elsewhere" {
				return errors.New("another cluster")
			}
			return nil
		},
	})}
	return c
}

// load loads the states of a component as a new process does.
func (c *cluster) load(o manifests.Owner) *Record {
	c.t.Helper()
	r, err := c.Load(c.t.Context(), o, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// write writes states with the given changes.
func (c *cluster) write(r *Record, changes map[manifests.Key]*State) *Record {
	c.t.Helper()
	r, err := c.Write(c.t.Context(), r.owner, r, changes)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// secret returns a stored Secret of a component, or nil.
func (c *cluster) secret(o manifests.Owner, number int) *unstructured.Unstructured {
	return c.Secrets[nameOf(o, number)]
}

func nameOf(o manifests.Owner, number int) types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: records.ExternalsName(o.ID(), number)}
}

// restore stores a copy of a Secret.
func (c *cluster) restore(secret *unstructured.Unstructured) { c.Add(secret.DeepCopy()) }

// edit changes the data of the first Secret of a component.
func (c *cluster) edit(o manifests.Owner, edit func(data map[string]any)) {
	secret := c.secret(o, 0)
	data, _ := secret.Object["data"].(map[string]any)
	edit(data)
	c.Add(secret)
}

// sent returns the requests since the last call, without access reviews.
func (c *cluster) sent() []string {
	sent := slices.DeleteFunc(c.Requests, func(r string) bool { return r == "create " })
	c.Requests = nil
	return sent
}

func key(name string) manifests.Key {
	return manifests.Key{Group: manifests.ExternalGroup, Kind: "Schema", Name: name}
}

// created returns the state of an external that was created.
func created(number int) *State {
	return &State{
		Token: fmt.Sprintf("%040x", number), Attempts: 1, ID: fmt.Sprint("id-", number), Data: []byte{0, 1, 2},
		Manifest:   json.RawMessage(`{"kind":"Schema","spec":{"a":"<b>&"}}`),
		References: []metav1alpha1.Reference{{Kind: "Secret", Name: "admin"}},
	}
}

// intended returns the state of an external that is about to be created.
func intended(number int) *State {
	return &State{Token: fmt.Sprintf("%040x", number), Attempts: 1, Intent: IntentCreate, Since: start}
}

// sized returns a state with a number of bytes in its value, or a few more.
func sized(number, bytes int) *State {
	s := created(number)
	s.Data = make([]byte, min(bytes*3/4, external.MaxState))
	rest := bytes - base64.StdEncoding.EncodedLen(len(s.Data))
	s.Manifest = json.RawMessage(`{"a":"` + strings.Repeat("x", max(0, rest)) + `"}`)
	return s
}

func text(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func forbidden() error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New(`User "op" cannot list`))
}

// decoded returns the content of a Secret at a data key.
func decoded(secret *unstructured.Unstructured, dataKey string) []byte {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", dataKey)
	data, _ := base64.StdEncoding.DecodeString(encoded)
	return data
}
