package related

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// elsewhere names an object in a namespace that is not watched.
var elsewhere = client.ObjectKey{Namespace: "elsewhere", Name: sharedName}

func TestAnObjectInANamespaceThatIsNotWatchedIsAFailure(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		key     client.ObjectKey
		want    string
	}{
		"the namespaces of the operator": {
			key: elsewhere, want: `ConfigMap elsewhere/shared: namespace "elsewhere" is not watched, because it is not in ` +
				`Options.Watching.Namespaces; name the namespaces of these objects in RelatedOptions.Namespaces`,
		},
		"the namespaces of the source": {
			options: Options{Namespaces: []string{"ns"}}, key: elsewhere,
			want: `ConfigMap elsewhere/shared: namespace "elsewhere" is not watched; add it to RelatedOptions.Namespaces`,
		},
		"no namespace": {key: client.ObjectKey{Name: sharedName}, want: "ConfigMap shared is named without its namespace"},
		"watched":      {key: key(sharedName)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.options.Of = func(client.Object) []client.ObjectKey { return []client.ObjectKey{test.key} }
				r := newRelation(t, test.options)
				r.track(t, "a")
				if state := r.State(key("a")); !state.Waits || state.Failure != "" {
					t.Errorf("before the scope is known: %+v", state)
				}
				r.users.setScope(r.informer, true, []string{"ns"})
				for range 2 {
					if got := r.State(key("a")); got.Failure != test.want || got.Since.IsZero() != (test.want == "") {
						t.Errorf("state %+v, want the failure %s", got, test.want)
					}
					r.track(t, "a")
				}
				r.list(t, configMap(sharedName, "1", "x"))
				_, err := r.Get(t.Context(), key("a"))
				_, inputErr := r.Input(t.Context(), key("a"))
				if (err != nil) != (test.want != "") || (inputErr != nil) != (test.want != "") {
					t.Errorf("errors %v and %v", err, inputErr)
				}
			})
		})
	}
}

func TestAnObjectElsewhereIsNeitherReadNorWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		r.track(t, "a")
		r.users.setScope(r.informer, true, []string{"ns"})
		r.list(t, configMap(sharedName, "1", "x"))
		if _, err := r.GetNamed(t.Context(), key("a"), elsewhere); err == nil || apierrors.IsNotFound(err) {
			t.Errorf("GetNamed returned %v", err)
		}
		other := configMap(sharedName, "1", "x")
		other.Namespace = elsewhere.Namespace
		if err := r.Write(t.Context(), key("a"), other, nil); err == nil {
			t.Error("an object whose changes are not seen was written")
		}
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=x"}) {
			t.Errorf("values %v", got)
		}
	})
}

func TestAClusterScopedTypeHasOneWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{
			New: func() client.Object { return &corev1.Node{} }, Namespaces: []string{"a", "b"},
			All: true, MetadataOnly: true, Idle: -1,
		})
		if err := r.Prepare(clientgoscheme.Scheme); err != nil {
			t.Fatal(err)
		}
		i := newInformer(r.users.convert, nil, eventsources.Cluster{}, r.options.Namespaces)
		i.watch.setScope(false, r.options.Namespaces)
		if len(i.watch.parts) != 1 || i.watch.parts[0].namespace != "" ||
			i.watch.checkNamespaces(client.ObjectKey{Name: "n"}) != nil {
			t.Errorf("parts: %v", i.watch.parts)
		}
	})
}

func TestWhichNamespacesAnInformerWatches(t *testing.T) {
	for name, test := range map[string]struct {
		named, operator []string
		atHome          bool
		want            string
	}{
		"all by default":                           {atHome: true, want: ""},
		"those of the operator at home":            {operator: []string{"a", "b"}, atHome: true, want: "a b"},
		"all in other clusters":                    {operator: []string{"a"}, want: ""},
		"the named ones instead of the operator's": {named: []string{"c"}, operator: []string{"a"}, atHome: true, want: "c"},
		"the named ones in other clusters":         {named: []string{"c", "d"}, want: "c d"},
		"all on demand":                            {named: []string{""}, operator: []string{"a"}, atHome: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRelation(t, Options{Namespaces: test.named})
				r.begin(eventsources.Cluster{Key: "home"}, test.operator...)
				r.End() // The watches end at once.
				mapper := meta.NewDefaultRESTMapper(nil)
				cluster := eventsources.Cluster{
					Key: "elsewhere", Dynamic: fake.NewSimpleDynamicClient(clientgoscheme.Scheme), Mapper: mapper,
				}
				if test.atHome {
					cluster.Key = "home"
				}
				var parts []string
				for _, part := range r.start(cluster).watch.parts {
					parts = append(parts, part.namespace)
				}
				if got := strings.Join(parts, " "); got != test.want {
					t.Errorf("namespaces %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestNamespacesAreChecked(t *testing.T) {
	for want, namespaces := range map[string][]string{
		"":                               {"a", "b"},
		`"A" is no name of a namespace`:  {"A"},
		`namespace "a" is named twice`:   {"a", "b", "a"},
		`"" is no name of a namespace: `: {"a", ""},
	} {
		o := Options{New: func() client.Object { return &corev1.ConfigMap{} }, Namespaces: namespaces}
		err := New(o).Prepare(clientgoscheme.Scheme)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", namespaces, err, want)
		}
	}
}
