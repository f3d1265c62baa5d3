package input

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// reading is a Reader with a fake API server from which it reads.
type reading struct {
	*Reader
	server *apiservertest.Server
	target target.Target
	woken  atomic.Int32
}

func newReading(t *testing.T) *reading {
	t.Helper()
	return newReadingThrough(t, nil)
}

// newReadingThrough is like newReading. The requests to the API server use the wrapped transport.
func newReadingThrough(t *testing.T, wrap transport.WrapperFunc) *reading {
	t.Helper()
	server := apiservertest.New(t)
	config := server.Config()
	config.WrapTransport = wrap
	connection, err := target.Connect(t.Context(), config, target.Options{Reconciler: "shops.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	r := &reading{server: server, target: target.Target{Client: connection.Own(), Local: connection.Own()}}
	r.Reader = &Reader{
		References:       observe.NewReferences(t.Context(), connection.Own().Metadata, "shops.example.com"),
		GeneratorVersion: "1", Wake: func(types.NamespacedName) { r.woken.Add(1) },
	}
	return r
}

// read reads the inputs as soon as the watches are in sync.
func (r *reading) read(t *testing.T, d Declaration, known Contents) (Inputs, Contents, error) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		in, contents, err := r.Read(t.Context(), web, d, r.target, known)
		if !errors.Is(err, passerror.ErrObserving) {
			return in, contents, err
		}
		if time.Now().After(deadline) {
			t.Fatal("the watches were not in sync within 20 seconds")
		}
	}
}

// readOf reads the inputs, and fails the test if the read fails.
func (r *reading) readOf(t *testing.T, d Declaration, known Contents) (Inputs, Contents) {
	t.Helper()
	in, contents, err := r.read(t, d, known)
	if err != nil {
		t.Fatal(err)
	}
	return in, contents
}

func (r *reading) put(kind, name string, data map[string]any) {
	r.server.Put("v1", kind, "shop", name, map[string]any{"data": data})
}

var (
	toSettings = metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference, Name: "settings"}
	toPassword = metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: "password"}
)

func TestTheDigestFollowsTheContentsOfReferences(t *testing.T) {
	r := newReading(t)
	r.server.Put("v1", "ConfigMap", "shop", "settings", map[string]any{
		"data": map[string]any{"a": "1"}, "binaryData": map[string]any{"b": "Mg=="},
	})
	r.put("Secret", "password", map[string]any{"p": "c2VjcmV0"})
	d := Declaration{References: []metav1alpha1.Reference{toSettings, toPassword}}
	first, known := r.readOf(t, d, nil)
	if len(first.References) != 2 || len(known) != 2 || first.Digest == "" {
		t.Fatalf("Read must return two references, their contents and a digest, got %+v", first)
	}
	contents, err := Load(t.Context(), r.target, first.References)
	settings := generator.Reference{Kind: metav1alpha1.ConfigMapReference, Namespace: "shop", Name: "settings"}
	password := generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "shop", Name: "password"}
	if err != nil || string(contents[settings]["a"]) != "1" || string(contents[settings]["b"]) != "2" ||
		string(contents[password]["p"]) != "secret" {
		t.Errorf("Load returned the wrong contents %v, or the error %v", contents, err)
	}

	gets := func() (n int) {
		for _, request := range r.server.Requests() {
			if !request.Watch && strings.Count(request.Path, "/") == 6 {
				n++
			}
		}
		return n
	}
	gets()
	again, known := r.readOf(t, d, known)
	if again.Digest != first.Digest || gets() != 0 || again.References[0].Data() != nil {
		t.Error("the second Read sent a request, or returned another digest or data, although all contents are known")
	}
	if _, err := Load(t.Context(), r.target, again.References); err != nil || gets() != 2 {
		t.Errorf("Load did not read the data of both references, whose contents were known before: error %v", err)
	}

	before := r.woken.Load()
	r.put("ConfigMap", "settings", map[string]any{"a": "2"})
	for r.woken.Load() == before {
		time.Sleep(5 * time.Millisecond)
	}
	changed, known := r.readOf(t, d, known)
	if changed.Digest == first.Digest || gets() != 1 {
		t.Error("the digest did not change with the ConfigMap, or Read requested more than the ConfigMap")
	}
	if changed.References[0].ContentDigest() == first.References[0].ContentDigest() {
		t.Error("the digest of the changed content did not change")
	}

	d.References[1].Credential = true
	withCredential, _ := r.readOf(t, d, known)
	r.put("Secret", "password", map[string]any{"p": "bmV3"})
	renewed, _ := r.readOf(t, d, nil)
	if withCredential.Digest == changed.Digest || withCredential.Digest != renewed.Digest {
		t.Error("the content of a credential changed the digest of the inputs")
	}
}

func TestAReferenceThatDoesNotExist(t *testing.T) {
	optional, credential := toPassword, toPassword
	optional.Optional, credential.Credential = true, true
	const orOptional = ", or mark the reference as optional: then values of it fall back to their defaults, and objects " +
		"that are not rendered " +
		"without them are deleted"
	for _, c := range []struct {
		name       string
		references []metav1alpha1.Reference
		message    string
	}{
		{"is an error", []metav1alpha1.Reference{toSettings}, "ConfigMap shop/settings does not exist; create it" +
			orOptional},
		{
			"cannot be optional if it has credentials",
			[]metav1alpha1.Reference{credential},
			"Secret shop/password does not exist; create it",
		},
		{
			"is named with all other missing references",
			[]metav1alpha1.Reference{toSettings, toPassword},
			"ConfigMap shop/settings does not exist; Secret shop/password does not exist; create it" + orOptional,
		},
		{"is left out if it is optional", []metav1alpha1.Reference{optional}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, d := newReading(t), Declaration{References: c.references}
			in, _, err := r.read(t, d, nil)
			// A missing reference is reported although the objects of another type are not listed yet.
			for end := time.Now().Add(20 * time.Second); len(c.references) > 1 && time.Now().Before(end); {
				if in, _, err = r.read(t, d, nil); strings.Contains(err.Error(), "; Secret") {
					break
				}
			}
			failure := passerror.Of(err)
			if c.message == "" {
				if failure != nil || len(in.References) != 0 || in.Digest == "" {
					t.Errorf("Read of a missing optional reference returned %+v and the error %v", in, failure)
				}
				return
			}
			if failure == nil || failure.Reason != metav1alpha1.ReasonReferenceNotFound || !failure.Terminal ||
				failure.Message != c.message {
				t.Errorf("Read returned the wrong error %v", failure)
			}
		})
	}
}

func TestAReferenceThatItsWatchDoesNotShowYetIsRead(t *testing.T) {
	r := newReading(t)
	r.server.Refuse(func(got apiservertest.Request) error {
		if got.Watch {
			return apierrors.NewInternalError(errors.New("the watch is late"))
		}
		return nil
	})
	d := Declaration{References: []metav1alpha1.Reference{toSettings}}
	if _, _, err := r.read(t, d, nil); passerror.Of(err).Reason != metav1alpha1.ReasonReferenceNotFound {
		t.Fatalf("got %v before the ConfigMap exists", err)
	}
	r.put("ConfigMap", "settings", map[string]any{"a": "1"})
	r.server.Requests()
	in, known := r.readOf(t, d, nil)
	if len(in.References) != 1 || string(in.References[0].Data()["a"]) != "1" || len(known) != 1 {
		t.Errorf("got %+v", in.References)
	}
	gets := 0
	for _, request := range r.server.Requests() {
		if strings.HasSuffix(request.Path, "/settings") {
			gets++
		}
	}
	if gets != 1 {
		t.Errorf("the ConfigMap was read %d times, want once", gets)
	}
}

// outdated is a transport that answers reads of an object with the first response as long as there are some left.
type outdated struct {
	next  http.RoundTripper
	path  string
	first []byte
	left  atomic.Int32
	reads atomic.Int32
}

func (o *outdated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, o.path) {
		return response, err
	}
	o.reads.Add(1)
	if o.first == nil {
		if o.first, err = io.ReadAll(response.Body); err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(o.first))
	}
	if o.left.Add(-1) >= 0 {
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(o.first)), int64(len(o.first))
	}
	return response, nil
}

func TestAResponseThatIsOlderThanTheWatchIsNotUsed(t *testing.T) {
	old := &outdated{path: "/settings"}
	r := newReadingThrough(t, func(next http.RoundTripper) http.RoundTripper {
		old.next = next
		return old
	})
	r.put("ConfigMap", "settings", map[string]any{"a": "1"})
	d := Declaration{References: []metav1alpha1.Reference{toSettings}}
	_, known := r.readOf(t, d, nil)
	woken := r.woken.Load()
	r.put("ConfigMap", "settings", map[string]any{"a": "2"})
	for r.woken.Load() == woken {
		time.Sleep(5 * time.Millisecond)
	}

	old.left.Store(10)
	before := old.reads.Load()
	_, _, err := r.read(t, d, known)
	if failure := passerror.Of(err); failure == nil || failure.Reason != metav1alpha1.ReasonRetrying || failure.Terminal {
		t.Errorf("while all responses are outdated, Read returned the error %v", err)
	}
	if got := old.reads.Load() - before; got != 2 {
		t.Errorf("Read read the object %d times, want twice", got)
	}
	old.left.Store(1)
	in, known := r.readOf(t, d, known)
	if got := string(in.References[0].Data()["a"]); got != "2" {
		t.Errorf("after an outdated response, the value is %q", got)
	}
	old.left.Store(1)
	in, _ = r.readOf(t, d, known)
	loaded, err := Load(t.Context(), r.target, in.References)
	if got := string(loaded[in.References[0].Reference]["a"]); err != nil || got != "2" {
		t.Errorf("after an outdated response, Load returned %q, %v", got, err)
	}
}

func TestAMissingReferenceIsReportedWhileAnotherIsNotListedYet(t *testing.T) {
	r := newReading(t)
	if _, _, err := r.read(t, Declaration{References: []metav1alpha1.Reference{toSettings}}, nil); err == nil {
		t.Fatal("Read returned no error, although the ConfigMap does not exist")
	}
	release := make(chan struct{})
	r.server.Refuse(func(got apiservertest.Request) error {
		if strings.Contains(got.Path, "/secrets") {
			<-release
		}
		return nil
	})
	defer close(release)
	d := Declaration{References: []metav1alpha1.Reference{toSettings, toPassword}}
	if _, _, err := r.Read(t.Context(), web, d, r.target, nil); passerror.Of(err).
		Reason != metav1alpha1.ReasonReferenceNotFound {
		t.Errorf("Read of a missing reference returned %v, want the reason ReferenceNotFound", err)
	}
}

func TestAReferenceThatCannotBeReadIsAnError(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "settings", errors.New("no role"))
	isGet := func(got apiservertest.Request) bool { return strings.HasSuffix(got.Path, "/settings") }
	isList := func(got apiservertest.Request) bool { return strings.HasSuffix(got.Path, "/configmaps") }
	for _, c := range []struct {
		name     string
		fails    func(apiservertest.Request) bool
		answer   error
		reason   string
		terminal bool
	}{
		{"a list that is forbidden stalls", isList, forbidden, metav1alpha1.ReasonForbidden, true},
		{"a read that is forbidden stalls", isGet, forbidden, metav1alpha1.ReasonForbidden, true},
		{
			"a read that fails is retried", isGet, apierrors.NewInternalError(errors.New("oh")),
			metav1alpha1.ReasonRetrying, false,
		},
		{
			"an object that was deleted in between does not exist", isGet,
			apierrors.NewNotFound(corev1.Resource("configmaps"), "settings"), metav1alpha1.ReasonReferenceNotFound, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReading(t)
			r.put("ConfigMap", "settings", map[string]any{"a": "1"})
			r.server.Refuse(func(got apiservertest.Request) error {
				if c.fails(got) {
					return c.answer
				}
				return nil
			})
			known := Contents{{object: observe.Reference{Name: "former"}}: {}}
			_, kept, err := r.read(t, Declaration{References: []metav1alpha1.Reference{toSettings}}, known)
			failure := passerror.Of(err)
			if failure == nil || failure.Reason != c.reason || failure.Terminal != c.terminal {
				t.Errorf("Read returned the wrong condition error %v", failure)
			}
			if !reflect.DeepEqual(kept, known) {
				t.Error("a failed Read did not return the known contents")
			}
		})
	}
}

func TestDeclaredInputsAreChecked(t *testing.T) {
	source := &metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: strings.Repeat("a", 64)}
	for _, c := range []struct {
		name        string
		declaration Declaration
		canFetch    bool
		message     string
	}{
		{
			"a source cannot be used without a fetcher",
			Declaration{Source: source},
			false,
			"this operator cannot fetch sources",
		},
		{"a source needs a digest", Declaration{Source: &metav1alpha1.SourceReference{URL: source.URL}}, true, "source: "},
		{"a source can be used", Declaration{Source: source}, true, ""},
		{
			"the errors of all patterns are joined",
			Declaration{ManagedTypes: []metav1alpha1.TypePattern{{Kind: "A"}, {Group: "*"}}},
			true, "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := (&Reader{CanFetch: c.canFetch}).Declared(c.declaration)
			failure := passerror.Of(err)
			if c.message == "" {
				if failure != nil {
					t.Error(failure)
				}
				return
			}
			if failure == nil || failure.Reason != metav1alpha1.ReasonInvalidSpec || !failure.Terminal ||
				!strings.Contains(failure.Message, c.message) {
				t.Errorf("Declared returned the wrong condition error %v", failure)
			}
		})
	}
}

func TestManagedTypesAreSortedAndUnique(t *testing.T) {
	managed, err := ManagedTypes([]metav1alpha1.TypePattern{
		{Group: "b.example.com", Kind: "B"}, {Group: "a.example.com", Kind: "A"}, {Group: "b.example.com", Kind: "B"},
	})
	if texts := strings.Join(TypeTexts(managed), " "); err != nil || texts != "A.a.example.com B.b.example.com" {
		t.Errorf("the managed types are %q, with the error %v", texts, err)
	}
}

func TestEachInputChangesTheDigest(t *testing.T) {
	base := func() Declaration {
		return Declaration{
			Namespace: "shop", Name: "web", Parameters: map[string]any{"a": 1}, Rendered: map[string]any{"b": 1},
			Source:       &metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: strings.Repeat("a", 64)},
			ManagedTypes: []metav1alpha1.TypePattern{{Group: "a.example.com", Kind: "A"}},
		}
	}
	digest := func(version string, change func(*Declaration)) string {
		t.Helper()
		d, r := base(), &Reader{CanFetch: true, GeneratorVersion: version}
		change(&d)
		in, _, err := r.Read(t.Context(), web, d, target.Target{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return in.Digest
	}
	same := digest("1", func(*Declaration) {})
	if digest("1", func(d *Declaration) { d.SourceName = "a chart"; d.Source.URL += "?" }) != same {
		t.Error("the location of a source changed the digest of the inputs")
	}
	if digest("2", func(*Declaration) {}) == same {
		t.Error("another version of the generator did not change the digest of the inputs")
	}
	for name, change := range map[string]func(*Declaration){
		"namespace":     func(d *Declaration) { d.Namespace = "other" },
		"name":          func(d *Declaration) { d.Name = "other" },
		"parameters":    func(d *Declaration) { d.Parameters["a"] = 2 },
		"spec":          func(d *Declaration) { d.Rendered = nil },
		"source":        func(d *Declaration) { d.Source.SHA256 = strings.Repeat("b", 64) },
		"managed types": func(d *Declaration) { d.ManagedTypes = nil },
	} {
		if digest("1", change) == same {
			t.Errorf("%s: the change did not change the digest of the inputs", name)
		}
	}
	if _, _, err := (&Reader{}).Read(t.Context(), web, Declaration{Rendered: func() {}}, target.Target{},
		nil); err == nil {
		t.Error("got a digest of an input that is not plain data, want an error")
	}
}

func TestInputsStandForTheRevisionOfAnEqualDigest(t *testing.T) {
	in := Inputs{Digest: "a"}
	if !in.AreRecorded(&metav1alpha1.Status{InputDigest: "a"}) || in.AreRecorded(&metav1alpha1.Status{InputDigest: "b"}) {
		t.Error("AreRecorded must be true for equal input digests and false for different ones")
	}
	if in.SourceDigest() != "" {
		t.Error("inputs without a source have a digest of the source")
	}
	in.Source = chart.DeepCopy()
	if in.SourceDigest() != chart.SHA256 {
		t.Error("SourceDigest did not return the digest of the source")
	}
}
