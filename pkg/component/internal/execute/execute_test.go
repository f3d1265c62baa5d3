package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// request is what the API server got.
type request struct {
	verb, query, contentType string
	body                     map[string]any
}

// apiServer answers each request with the next of its answers, and notes what it was asked.
type apiServer struct {
	mu       sync.Mutex
	answers  []answer
	requests []request
}

type answer struct {
	code int
	body any
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := request{verb: r.Method + " " + r.URL.Path, query: r.URL.RawQuery, contentType: r.Header.Get("Content-Type")}
	if data, err := io.ReadAll(r.Body); err == nil && len(data) > 0 {
		if err := json.Unmarshal(data, &got.body); err != nil {
			got.verb += " (" + err.Error() + ")"
		}
	}
	s.requests = append(s.requests, got)
	if len(s.answers) == 0 {
		http.Error(w, "not expected", http.StatusTeapot)
		return
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(next.code)
	if err := json.NewEncoder(w).Encode(next.body); err != nil {
		panic(err)
	}
}

func (s *apiServer) verbs() []string {
	var verbs []string
	for _, r := range s.requests {
		verbs = append(verbs, r.verb)
	}
	return verbs
}

// journal notes what it is told.
type journal struct{ answers []*plan.Observed }

func (j *journal) BeginWrite(manifests.Key) func(*plan.Observed) {
	return func(o *plan.Observed) { j.answers = append(j.answers, o) }
}

// unmonitored watches nothing.
type unmonitored struct{}

func (unmonitored) StartAction(ctx context.Context, _ plan.Action) (context.Context, func(plan.Result)) {
	return ctx, func(plan.Result) {}
}

// executor returns one that talks to the server, with what the journal hears.
func (s *apiServer) executor(t *testing.T) (*Executor, *journal) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	j := &journal{}
	return New(Options{Reconciler: reconciler, Dynamic: dynamicClient, REST: discoveryClient.RESTClient(), Mapper: mapper, Tracker: j, Monitor: unmonitored{}}), j
}

func status(code int, reason metav1.StatusReason) answer {
	return answer{code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		Details: &metav1.StatusDetails{Kind: "configmaps"},
	}}
}

// invalidIn refuses the values of fields.
func invalidIn(fields ...string) answer {
	causes := make([]metav1.StatusCause, 0, len(fields))
	for _, f := range fields {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: f, Message: "field is immutable"})
	}
	return answer{422, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{Kind: "configmaps", Causes: causes},
	}}
}

// found answers with a ConfigMap that is ours.
func found(edit func(*unstructured.Unstructured)) answer {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "x"}}}
	o.SetNamespace("shop")
	o.SetName("settings")
	o.SetUID("u1")
	o.SetResourceVersion("7")
	o.SetLabels(map[string]string{reconciler + "/owner-id": "us"})
	if edit != nil {
		edit(o)
	}
	return answer{http.StatusOK, o.Object}
}

// ownedInPart lists a field of the ConfigMap as ours.
func ownedInPart(o *unstructured.Unstructured) {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(`{"f:data":{"f:a":{}}}`))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: reconciler, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: f}})
}

func action(verb plan.Verb, policy metav1alpha1.UpdatePolicy) plan.Action {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"namespace": "shop", "name": "settings", "labels": map[string]any{reconciler + "/owner-id": "us"},
		}, "data": map[string]any{"a": "x"},
	}}
	key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	a := plan.Action{Verb: verb, Key: key, Version: "v1", Policy: policy, Owner: "us", Preconditions: plan.Preconditions{UID: "u1", ResourceVersion: "6", Owner: "us"}}
	if verb != plan.VerbDelete {
		a.Object = &manifests.Object{Key: key, Version: "v1", Body: body}
	}
	return a
}

const (
	collection = "/api/v1/namespaces/shop/configmaps"
	single     = collection + "/settings"
)

func TestRun(t *testing.T) {
	deleted := metav1.Unix(1000, 0)
	for _, c := range []struct {
		name    string
		action  plan.Action
		answers []answer
		want    []string
		check   func(t *testing.T, requests []request)
		// verb, presence and failure are of the result; known says that the journal learned of the object.
		verb     plan.Verb
		presence plan.Presence
		failure  plan.WaitReason
		known    bool
	}{
		{
			name: "creates by server-side apply, bound to a version that no object has", action: action(plan.VerbCreate, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(nil)}, want: []string{"PATCH " + single}, verb: plan.VerbCreate, presence: plan.Present, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				metadata, _ := r[0].body["metadata"].(map[string]any)
				if r[0].contentType != "application/apply-patch+yaml" || r[0].query != "fieldManager=shop.example.com&fieldValidation=Ignore&force=true" || metadata["resourceVersion"] != "1" {
					t.Errorf("got %+v", r[0])
				}
			},
		},
		{
			name: "creates by POST under replace", action: action(plan.VerbCreate, metav1alpha1.UpdateReplace),
			answers: []answer{found(nil)}, want: []string{"POST " + collection}, verb: plan.VerbCreate, presence: plan.Present, known: true,
		},
		{
			name: "reads what is there already", action: action(plan.VerbCreate, metav1alpha1.UpdateSSAOverride),
			answers: []answer{status(409, metav1.StatusReasonConflict), found(func(o *unstructured.Unstructured) { o.SetLabels(nil) })},
			want:    []string{"PATCH " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "reads what a POST finds there already", action: action(plan.VerbCreate, metav1alpha1.UpdateReplace),
			answers: []answer{status(409, metav1.StatusReasonAlreadyExists), found(nil)},
			want:    []string{"POST " + collection, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "applies under the UID that was observed", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(nil)}, want: []string{"PATCH " + single}, verb: plan.VerbApply, presence: plan.Present, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				if metadata, _ := r[0].body["metadata"].(map[string]any); metadata["uid"] != "u1" || metadata["resourceVersion"] != nil {
					t.Errorf("got %v", metadata)
				}
			},
		},
		{
			name: "does not tell the watch of an object without our label", action: action(plan.VerbRead, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetLabels(nil) })}, want: []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "does not tell the watch of an object of somebody else", action: action(plan.VerbRead, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{reconciler + "/owner-id": "them"}) })},
			want:    []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "does not tell the watch of an object that it does not show", action: action(plan.VerbRead, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetUID("u2") })},
			want:    []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "replaces what it read, in its resource version", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(ownedInPart), found(nil)}, want: []string{"GET " + single, "PUT " + single}, verb: plan.VerbReplace, presence: plan.Present, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				if metadata, _ := r[1].body["metadata"].(map[string]any); metadata["uid"] != "u1" || metadata["resourceVersion"] != "7" {
					t.Errorf("got %v", metadata)
				}
			},
		},
		{
			name: "asks how the API server takes an object apart whose managed fields were stripped", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(nil), found(ownedInPart), found(nil)}, want: []string{"GET " + single, "PATCH " + single, "PUT " + single},
			verb: plan.VerbReplace, presence: plan.Present, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				if metadata, _ := r[2].body["metadata"].(map[string]any); metadata["managedFields"] == nil {
					t.Errorf("got %v", metadata)
				}
			},
		},
		{
			name: "replaces without knowing it where it gets no answer", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(nil), status(500, ""), found(nil)}, want: []string{"GET " + single, "PATCH " + single, "PUT " + single},
			verb: plan.VerbReplace, presence: plan.Present, known: true,
		},
		{
			name: "replaces nothing that is as it should be, and ours", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(func(o *unstructured.Unstructured) {
				f := &metav1.FieldsV1{}
				f.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{"f:shop.example.com/owner-id":{}}},"f:data":{"f:a":{}}}`))
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: reconciler, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: f}})
			})},
			want: []string{"GET " + single}, verb: plan.VerbReplace, presence: plan.Present, known: true,
		},
		{
			name: "does not replace another object of the same name", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetUID("u2") }), found(func(o *unstructured.Unstructured) { o.SetUID("u2") })},
			want:    []string{"GET " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "does not replace what somebody else took over", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{
				found(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{reconciler + "/owner-id": "them"}) }),
				found(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{reconciler + "/owner-id": "them"}) }),
			},
			want: []string{"GET " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "finds out that what it should replace is gone", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{status(404, metav1.StatusReasonNotFound), status(404, metav1.StatusReasonNotFound)},
			want:    []string{"GET " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Absent,
		},
		{
			name: "deletes what was observed, and nothing else", action: action(plan.VerbDelete, ""),
			answers: []answer{{200, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}, Status: metav1.StatusSuccess}}},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Absent, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				want := map[string]any{
					"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
					"preconditions": map[string]any{"uid": "u1", "resourceVersion": "6"},
				}
				if diff := cmp.Diff(want, r[0].body); diff != "" {
					t.Error(diff)
				}
			},
		},
		{
			name: "takes the deleted object in an answer for gone", action: action(plan.VerbDelete, ""), answers: []answer{found(nil)},
			want: []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Absent, known: true,
		},
		{
			name: "does not take an object for gone that finalizers hold", action: action(plan.VerbDelete, ""),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&deleted) })},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Present, known: true,
		},
		{
			name: "is content with what is gone already", action: action(plan.VerbDelete, ""), answers: []answer{status(404, metav1.StatusReasonNotFound)},
			want: []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Absent, known: true,
		},
		{
			name: "reads what changed before it was deleted", action: action(plan.VerbDelete, ""),
			answers: []answer{status(409, metav1.StatusReasonConflict), found(nil)},
			want:    []string{"DELETE " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "confirms that an object is gone", action: action(plan.VerbRead, ""), answers: []answer{status(404, metav1.StatusReasonNotFound)},
			want: []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Absent, known: true,
		},
		{
			name: "says why a write failed", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride), answers: []answer{status(400, metav1.StatusReasonBadRequest)},
			want: []string{"PATCH " + single}, verb: plan.VerbApply, failure: "BadRequest",
		},
		{
			name: "reads what is another one of its name by now", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{invalidIn("metadata.uid"), found(nil)},
			want:    []string{"PATCH " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "says what of a manifest is invalid", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{invalidIn("metadata.uid", "data")},
			want:    []string{"PATCH " + single}, verb: plan.VerbApply, failure: "Invalid",
		},
		{
			name: "says why a read after a conflict failed", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{status(409, metav1.StatusReasonConflict), status(403, metav1.StatusReasonForbidden)},
			want:    []string{"PATCH " + single, "GET " + single}, verb: plan.VerbRead, failure: "Forbidden",
		},
		{
			name: "fails what it does not know", action: plan.Action{Verb: "Dance"}, verb: "Dance", failure: "Error",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, j := server.executor(t)
			got := e.Run(t.Context(), nil, []plan.Action{c.action})[0]
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			if c.check != nil {
				c.check(t, server.requests)
			}
			checkResult(t, got, c.verb, c.presence, c.failure)
			if c.presence == plan.Absent && got.Observed.ResourceVersion != c.action.Preconditions.ResourceVersion {
				t.Errorf("it is not told in which version it was known last: %q", got.Observed.ResourceVersion)
			}
			if known := len(j.answers) == 1 && j.answers[0] != nil; len(j.answers) != 1 || known != c.known {
				t.Errorf("the journal heard %v", j.answers)
			}
		})
	}
}

func checkResult(t *testing.T, got plan.Result, verb plan.Verb, presence plan.Presence, failure plan.WaitReason) {
	t.Helper()
	var gotPresence plan.Presence
	var gotFailure plan.WaitReason
	if got.Observed != nil {
		gotPresence = got.Observed.Presence
		if gotPresence == plan.Absent && !got.Observed.Confirmed {
			t.Error("the absence is not confirmed")
		}
	}
	if got.Failure != nil {
		gotFailure = got.Failure.Reason
	}
	if got.Verb != verb || gotPresence != presence || gotFailure != failure {
		t.Errorf("got %s %q %q, want %s %q %q", got.Verb, gotPresence, gotFailure, verb, presence, failure)
	}
}

func TestRunKeepsTheOrderOfResults(t *testing.T) {
	server := &apiServer{answers: []answer{found(nil), found(nil)}}
	e, _ := server.executor(t)
	got := e.Run(t.Context(), nil, []plan.Action{{Verb: "Dance"}, action(plan.VerbRead, ""), {Verb: "Sing"}, action(plan.VerbApply, metav1alpha1.UpdateSSAMerge)})
	var verbs []plan.Verb
	for _, r := range got {
		verbs = append(verbs, r.Verb)
	}
	if diff := cmp.Diff([]plan.Verb{"Dance", plan.VerbRead, "Sing", plan.VerbApply}, verbs); diff != "" {
		t.Error(diff)
	}
}

func TestRunBeginsActionsInTheirOrder(t *testing.T) {
	server := &apiServer{}
	e, _ := server.executor(t)
	var actions []plan.Action
	var want []string
	for i := range 20 {
		a := action(plan.VerbDelete, "")
		a.Key.Name = fmt.Sprintf("settings-%d", i)
		actions = append(actions, a)
		want = append(want, "DELETE /api/v1/namespaces/shop/configmaps/"+a.Key.Name)
	}
	// The bound is one.
	e.Run(t.Context(), nil, actions)
	if diff := cmp.Diff(want, server.verbs()); diff != "" {
		t.Error(diff)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	server := &apiServer{}
	e, _ := server.executor(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := e.Run(ctx, nil, []plan.Action{action(plan.VerbApply, "")})[0]
	checkResult(t, got, plan.VerbApply, "", "Unreachable")
	if len(server.requests) > 0 {
		t.Errorf("got %v", server.verbs())
	}
}

func TestRunBeginsNothingOnceItIsStopped(t *testing.T) {
	server := &apiServer{}
	e, j := server.executor(t)
	stop := make(chan struct{})
	close(stop)
	got := e.Run(t.Context(), stop, []plan.Action{action(plan.VerbApply, "")})[0]
	checkResult(t, got, plan.VerbApply, "", "Error")
	if len(server.requests) > 0 || len(j.answers) > 0 {
		t.Errorf("got %v, and the journal was told of %v", server.verbs(), j.answers)
	}
}

// forgetful maps ConfigMaps to a version that is served no more, until it is told to forget.
type forgetful struct{ meta.RESTMapper }

func (f *forgetful) Reset() {
	fresh := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
	fresh.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	f.RESTMapper = fresh
}

func TestVersionsThatAreServedNoMore(t *testing.T) {
	unknownPath := answer{404, "404 page not found"}
	for _, c := range []struct {
		name string
		verb plan.Verb
		then answer
		want []string
	}{
		{"an object is read in the version that is left", plan.VerbRead, found(nil), []string{"GET /api/v0/%s", "GET /api/v1/%s"}},
		{"an object is deleted in the version that is left", plan.VerbDelete, answer{200, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		}}, []string{"DELETE /api/v0/%s", "DELETE /api/v1/%s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := []answer{unknownPath}
			if c.verb == plan.VerbRead {
				// A definition of the type is looked for, and found.
				answers = append(answers, answer{200, map[string]any{"kind": "List", "apiVersion": "v1", "items": []any{map[string]any{
					"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "x"},
					"spec": map[string]any{"group": "", "names": map[string]any{"kind": "ConfigMap"}, "scope": "Namespaced"},
				}}}})
				c.want = slices.Insert(c.want, 1, "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions")
			}
			server := &apiServer{answers: append(answers, c.then)}
			e, _ := server.executor(t)
			stale := meta.NewDefaultRESTMapper(nil)
			stale.Add(schema.GroupVersionKind{Version: "v0", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
			e.writer.clients.mapper = &forgetful{stale}
			a := action(c.verb, "")
			a.Object, a.Version = nil, "v0"
			got := e.Run(t.Context(), nil, []plan.Action{a})[0]
			for i := range c.want {
				c.want[i] = strings.Replace(c.want[i], "%s", "namespaces/shop/configmaps/settings", 1)
			}
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
			if got.Failure != nil {
				t.Errorf("got %v", got.Failure)
			}
		})
	}
}

func TestUnserved(t *testing.T) {
	const (
		definitions = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		services    = "GET /apis/apiregistration.k8s.io/v1/apiservices"
	)
	list := func(items ...map[string]any) answer {
		all := make([]any, 0, len(items))
		for _, i := range items {
			all = append(all, i)
		}
		return answer{200, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": all}}
	}
	scoped := func(group, kind, scope string) map[string]any {
		return map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"group": group, "names": map[string]any{"kind": kind}, "scope": scope},
		}
	}
	definition := func(group, kind string) map[string]any { return scoped(group, kind, "Namespaced") }
	service := func(group string, spec map[string]any) map[string]any {
		spec["group"] = group
		return map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "x"}, "spec": spec}
	}
	for _, c := range []struct {
		name     string
		answers  []answer
		want     []string
		presence plan.Presence
		failure  plan.WaitReason
	}{
		{
			"an object is gone where nothing defines its type",
			[]answer{list(definition("example.com", "Other")), list(service("example.com", map[string]any{}))},
			[]string{definitions, services},
			plan.Absent, "",
		},
		{
			"an object is gone where its type was defined anew with another scope",
			[]answer{list(scoped("example.com", "Widget", "Cluster")), list()},
			[]string{definitions, services},
			plan.Absent, "",
		},
		{
			"not where a definition is there, but not established",
			[]answer{list(definition("example.com", "Widget"))},
			[]string{definitions},
			"", plan.WaitNotServed,
		},
		{
			"not where an aggregated API is down",
			[]answer{list(), list(service("example.com", map[string]any{"service": map[string]any{"name": "s"}}))},
			[]string{definitions, services},
			"", plan.WaitNotServed,
		},
		{
			"not where the definitions cannot be listed",
			[]answer{status(403, metav1.StatusReasonForbidden)},
			[]string{definitions},
			"", "Forbidden",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			a := plan.Action{Verb: plan.VerbRead, Key: manifests.Key{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: "w"}, Version: "v1", Preconditions: plan.Preconditions{UID: "u1"}}
			got := e.Run(t.Context(), nil, []plan.Action{a})[0]
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
			checkResult(t, got, plan.VerbRead, c.presence, c.failure)
		})
	}
}
