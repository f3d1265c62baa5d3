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
	"time"

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

// request is a logged request to the API server.
type request struct {
	verb, query, contentType string
	body                     map[string]any
}

// apiServer is a fake API server. apiServer logs each request, and returns the next element of answers as the response.
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
	if next.code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
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

// tracker implements WriteTracker. tracker stores the objects that the Executor passes to done, and those in responses.
type tracker struct {
	answers  []*plan.Observed
	received []*unstructured.Unstructured
}

func (j *tracker) BeginWrite(manifests.Key) func(*plan.Observed) {
	return func(o *plan.Observed) { j.answers = append(j.answers, o) }
}

func (j *tracker) BeginRead(key manifests.Key) func(*plan.Observed) { return j.BeginWrite(key) }

func (j *tracker) Received(_ manifests.Key, obj *unstructured.Unstructured) {
	j.received = append(j.received, obj)
}

// unmonitored is a Monitor that does nothing.
type unmonitored struct{}

func (unmonitored) StartAction(ctx context.Context, _ plan.Action) (context.Context, func(plan.Result)) {
	return ctx, func(plan.Result) {}
}

// executor returns an Executor with clients of the server, and the tracker of the Executor.
func (s *apiServer) executor(t *testing.T) (*Executor, *tracker) {
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
	j := &tracker{}
	return New(
		Options{
			Reconciler: reconciler,
			Dynamic:    dynamicClient,
			REST:       discoveryClient.RESTClient(),
			Mapper:     mapper,
			Tracker:    j,
			Monitor:    unmonitored{},
		},
	), j
}

func status(code int, reason metav1.StatusReason) answer {
	return answer{code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code),
		Reason:  reason,
		Details: &metav1.StatusDetails{Kind: "configmaps"},
	}}
}

// invalidIn returns the response to a request with invalid values of the given fields.
func invalidIn(fields ...string) answer {
	causes := make([]metav1.StatusCause, 0, len(fields))
	for _, f := range fields {
		causes = append(
			causes,
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: f, Message: "field is immutable"},
		)
	}
	return answer{422, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 422,
		Reason:  metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{Kind: "configmaps", Causes: causes},
	}}
}

// found returns a response with a ConfigMap that has our owner label. The function edit may change the ConfigMap.
func found(edit func(*unstructured.Unstructured)) answer {
	o := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "x"}},
	}
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

// podThatEnds makes an object a Pod that is being deleted.
func podThatEnds(grace int64, finalizers ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetKind("Pod")
		o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		o.SetDeletionGracePeriodSeconds(&grace)
		o.SetFinalizers(finalizers)
	}
}

// ownedInPart adds one of our managed fields entries, with a single field of the ConfigMap.
func ownedInPart(o *unstructured.Unstructured) {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(`{"f:data":{"f:a":{}}}`))
	o.SetManagedFields(
		[]metav1.ManagedFieldsEntry{
			{Manager: reconciler, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: f},
		},
	)
}

func action(verb plan.Verb, policy metav1alpha1.UpdatePolicy) plan.Action {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"namespace": "shop", "name": "settings", "labels": map[string]any{reconciler + "/owner-id": "us"},
		}, "data": map[string]any{"a": "x"},
	}}
	key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	a := plan.Action{
		Verb:          verb,
		Key:           key,
		Version:       "v1",
		Policy:        policy,
		Owner:         "us",
		Preconditions: plan.Preconditions{UID: "u1", ResourceVersion: "6", Owner: "us"},
	}
	if verb != plan.VerbDelete {
		a.Object = &manifests.Object{Key: key, Version: "v1", Body: body}
	}
	return a
}

// confirming returns the action that confirms the absence of the object that was applied with the UID u1.
func confirming() plan.Action {
	a := action(plan.VerbRead, "")
	a.Reason, a.Preconditions = plan.ReasonConfirm, plan.Preconditions{UID: "u1"}
	return a
}

const (
	collection = "/api/v1/namespaces/shop/configmaps"
	single     = collection + "/settings"
)

func TestRunSendsTheRequestsOfAnAction(t *testing.T) {
	deleted := metav1.Unix(1000, 0)
	for _, c := range []struct {
		name    string
		action  plan.Action
		answers []answer
		want    []string
		check   func(t *testing.T, requests []request)
		// verb, presence and failure are the expected result. known is set if the tracker is expected to get the
		// object.
		verb     plan.Verb
		presence plan.Presence
		failure  plan.WaitReason
		known    bool
	}{
		{
			name:    "creates by server-side apply with a version that no object has",
			action:  action(plan.VerbCreate, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(nil)}, want: []string{"PATCH " + single}, verb: plan.VerbCreate, presence: plan.Present,
			known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				metadata, _ := r[0].body["metadata"].(map[string]any)
				const query = "fieldManager=shop.example.com&fieldValidation=Ignore&force=true"
				if r[0].contentType != "application/apply-patch+yaml" || r[0].query != query || metadata["resourceVersion"] != "1" {
					t.Errorf("the executor sent the wrong request %+v", r[0])
				}
			},
		},
		{
			name: "creates by POST under the policy replace", action: action(plan.VerbCreate, metav1alpha1.UpdateReplace),
			answers: []answer{found(nil)}, want: []string{"POST " + collection}, verb: plan.VerbCreate, presence: plan.Present,
			known: true,
		},
		{
			name:   "reads an existing object instead of creating it",
			action: action(plan.VerbCreate, metav1alpha1.UpdateSSAOverride),
			answers: []answer{
				status(409, metav1.StatusReasonConflict), found(func(o *unstructured.Unstructured) { o.SetLabels(nil) }),
			},
			want: []string{"PATCH " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "reads an existing object after a refused POST", action: action(plan.VerbCreate, metav1alpha1.UpdateReplace),
			answers: []answer{status(409, metav1.StatusReasonAlreadyExists), found(nil)},
			want:    []string{"POST " + collection, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "applies with the UID that was observed", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(nil)}, want: []string{"PATCH " + single}, verb: plan.VerbApply, presence: plan.Present,
			known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				metadata, _ := r[0].body["metadata"].(map[string]any)
				if metadata["uid"] != "u1" || metadata["resourceVersion"] != nil {
					t.Errorf("the request has the wrong UID or resource version: %v", metadata)
				}
			},
		},
		{
			name:    "does not store an object without our label in the watches",
			action:  action(plan.VerbRead, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetLabels(nil) })}, want: []string{"GET " + single},
			verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name:    "does not store an object of another owner in the watches",
			action:  action(plan.VerbRead, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(ownedByThem)},
			want:    []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name:    "does not store an object with another UID in the watches",
			action:  action(plan.VerbRead, metav1alpha1.UpdateSSAOverride),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetUID("u2") })},
			want:    []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "replaces an object in the version that it read", action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(ownedInPart), found(nil)}, want: []string{"GET " + single, "PUT " + single},
			verb: plan.VerbReplace, presence: plan.Present, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				metadata, _ := r[1].body["metadata"].(map[string]any)
				if metadata["uid"] != "u1" || metadata["resourceVersion"] != "7" {
					t.Errorf("the request has the wrong UID or resource version: %v", metadata)
				}
			},
		},
		{
			name:    "restores removed managed fields by a dry run before it replaces",
			action:  action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(nil), found(ownedInPart), found(nil)},
			want:    []string{"GET " + single, "PATCH " + single, "PUT " + single},
			verb:    plan.VerbReplace, presence: plan.Present, known: true,
			check: func(t *testing.T, r []request) {
				t.Helper()
				if metadata, _ := r[2].body["metadata"].(map[string]any); metadata["managedFields"] == nil {
					t.Errorf("the request does not contain the managed fields: %v", metadata)
				}
			},
		},
		{
			name:    "replaces without restored managed fields if the dry run fails",
			action:  action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(nil), status(500, ""), found(nil)},
			want:    []string{"GET " + single, "PATCH " + single, "PUT " + single},
			verb:    plan.VerbReplace, presence: plan.Present, known: true,
		},
		{
			name:   "does not replace an object that is in sync and ours",
			action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{found(func(o *unstructured.Unstructured) {
				f := &metav1.FieldsV1{}
				f.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{"f:shop.example.com/owner-id":{}}},"f:data":{"f:a":{}}}`))
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{
					Manager: reconciler, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: f,
				}})
			})},
			want: []string{"GET " + single}, verb: plan.VerbReplace, presence: plan.Present, known: true,
		},
		{
			name:   "does not replace another object of the same name",
			action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{
				found(func(o *unstructured.Unstructured) { o.SetUID("u2") }),
				found(func(o *unstructured.Unstructured) { o.SetUID("u2") }),
			},
			want: []string{"GET " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name:   "does not replace an object that another owner took over",
			action: action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{
				found(ownedByThem),
				found(ownedByThem),
			},
			want: []string{"GET " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name:    "confirms that an object to replace does not exist",
			action:  action(plan.VerbReplace, metav1alpha1.UpdateReplace),
			answers: []answer{status(404, metav1.StatusReasonNotFound), status(404, metav1.StatusReasonNotFound)},
			want:    []string{"GET " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Absent,
		},
		{
			name: "deletes with the UID and the version that were observed", action: action(plan.VerbDelete, ""),
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
			name: "confirms the end of an object that the answer contains", action: action(plan.VerbDelete, ""),
			answers: []answer{found(nil)},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Absent, known: true,
		},
		{
			name: "returns an object that finalizers hold", action: action(plan.VerbDelete, ""),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&deleted) })},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Present, known: true,
		},
		{
			name: "confirms the end of a Pod without a grace period", action: action(plan.VerbDelete, ""),
			answers: []answer{found(podThatEnds(0))},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Absent, known: true,
		},
		{
			name: "returns a Pod whose grace period runs", action: action(plan.VerbDelete, ""),
			answers: []answer{found(podThatEnds(30))},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Present, known: true,
		},
		{
			name: "returns a Pod that finalizers hold", action: action(plan.VerbDelete, ""),
			answers: []answer{found(podThatEnds(0, "example.com/hold"))},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Present, known: true,
		},
		{
			name: "confirms the end of an object that does not exist", action: action(plan.VerbDelete, ""),
			answers: []answer{status(404, metav1.StatusReasonNotFound)},
			want:    []string{"DELETE " + single}, verb: plan.VerbDelete, presence: plan.Absent, known: true,
		},
		{
			name: "reads an object that changed before the delete", action: action(plan.VerbDelete, ""),
			answers: []answer{status(409, metav1.StatusReasonConflict), found(nil)},
			want:    []string{"DELETE " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "confirms by a read that an object does not exist", action: action(plan.VerbRead, ""),
			answers: []answer{status(404, metav1.StatusReasonNotFound)},
			want:    []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Absent, known: true,
		},
		{
			name: "takes an object with our label for outdated that no watch shows", action: confirming(),
			answers: []answer{found(nil)},
			want:    []string{"GET " + single}, verb: plan.VerbRead, failure: plan.WaitAPIError,
		},
		{
			name: "returns an object of another owner that no watch shows", action: confirming(),
			answers: []answer{found(ownedByThem)},
			want:    []string{"GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "takes an older version than the watches have shown for outdated", action: action(plan.VerbRead, ""),
			answers: []answer{found(func(o *unstructured.Unstructured) { o.SetResourceVersion("5") })},
			want:    []string{"GET " + single}, verb: plan.VerbRead, failure: plan.WaitAPIError,
		},
		{
			name: "returns the reason of a failed write", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{status(400, metav1.StatusReasonBadRequest)},
			want:    []string{"PATCH " + single}, verb: plan.VerbApply, failure: "BadRequest",
		},
		{
			name: "reads an object that has another UID", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{invalidIn("metadata.uid"), found(nil)},
			want:    []string{"PATCH " + single, "GET " + single}, verb: plan.VerbRead, presence: plan.Present,
		},
		{
			name: "fails for an invalid manifest", action: action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{invalidIn("metadata.uid", "data")},
			want:    []string{"PATCH " + single}, verb: plan.VerbApply, failure: "Invalid",
		},
		{
			name:    "returns the reason of a failed read after a conflict",
			action:  action(plan.VerbApply, metav1alpha1.UpdateSSAOverride),
			answers: []answer{status(409, metav1.StatusReasonConflict), status(403, metav1.StatusReasonForbidden)},
			want:    []string{"PATCH " + single, "GET " + single}, verb: plan.VerbRead, failure: "Forbidden",
		},
		{
			name: "fails for an unknown verb", action: plan.Action{Verb: "Dance"}, verb: "Dance", failure: "Error",
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
				t.Errorf("the absent object does not have the resource version of the delete, but %q", got.Observed.ResourceVersion)
			}
			if known := len(j.answers) == 1 && j.answers[0] != nil; len(j.answers) != 1 || known != c.known {
				t.Errorf("the executor passed the objects %v to the tracker", j.answers)
			}
		})
	}
}

// checkResult compares a result. The presence is Unknown for a result without an object.
func checkResult(t *testing.T, got plan.Result, verb plan.Verb, presence plan.Presence, failure plan.WaitReason) {
	t.Helper()
	var gotPresence plan.Presence
	var gotFailure plan.WaitReason
	if got.Observed != nil {
		gotPresence = got.Observed.Presence
		if gotPresence == plan.Absent && !got.Observed.Confirmed {
			t.Error("the executor did not confirm that the object is absent")
		}
	}
	if got.Failure != nil {
		gotFailure = got.Failure.Reason
	}
	if got.Verb != verb || gotPresence != presence || (got.Observed != nil) != (presence != plan.Unknown) ||
		gotFailure != failure {
		t.Errorf("got %s %q %q, want %s %q %q", got.Verb, gotPresence, gotFailure, verb, presence, failure)
	}
}

func TestRunKeepsTheOrderOfResults(t *testing.T) {
	server := &apiServer{answers: []answer{found(nil), found(nil)}}
	e, _ := server.executor(t)
	got := e.Run(
		t.Context(),
		nil,
		[]plan.Action{
			{Verb: "Dance"},
			action(plan.VerbRead, ""),
			{Verb: "Sing"},
			action(plan.VerbApply, metav1alpha1.UpdateSSAMerge),
		},
	)
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
	// The limit is one concurrent action.
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
	checkResult(t, got, plan.VerbApply, plan.Unknown, "Unreachable")
	if len(server.requests) > 0 {
		t.Errorf("the executor sent the requests %v, want none", server.verbs())
	}
}

func TestRunBeginsNoActionAfterItWasStopped(t *testing.T) {
	server := &apiServer{}
	e, j := server.executor(t)
	stop := make(chan struct{})
	close(stop)
	got := e.Run(t.Context(), stop, []plan.Action{action(plan.VerbApply, "")})[0]
	checkResult(t, got, plan.VerbApply, plan.Unknown, "Error")
	if len(server.requests) > 0 || len(j.answers) > 0 {
		t.Errorf("the executor sent %v and passed %v to the tracker, want nothing", server.verbs(), j.answers)
	}
}

// forgetful is a REST mapper with an outdated version of ConfigMap. Reset adds the current version.
type forgetful struct{ meta.RESTMapper }

func (f *forgetful) Reset() {
	fresh := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
	fresh.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	f.RESTMapper = fresh
}

func TestAMapperWithAnUnservedVersionIsReset(t *testing.T) {
	unknownPath := answer{404, "404 page not found"}
	for _, c := range []struct {
		name string
		verb plan.Verb
		then answer
		want []string
	}{
		{"an object is read in another version", plan.VerbRead, found(nil), []string{"GET /api/v0/%s", "GET /api/v1/%s"}},
		{"an object is deleted in another version", plan.VerbDelete, answer{200, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		}}, []string{"DELETE /api/v0/%s", "DELETE /api/v1/%s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := []answer{unknownPath}
			if c.verb == plan.VerbRead {
				// The Executor lists definitions, and finds a definition of the type.
				answers = append(
					answers,
					answer{200, map[string]any{"kind": "List", "apiVersion": "v1", "items": []any{map[string]any{
						"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
						"metadata": map[string]any{"name": "x"},
						"spec": map[string]any{
							"group": "",
							"names": map[string]any{"kind": "ConfigMap"},
							"scope": "Namespaced",
						},
					}}}},
				)
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
				t.Errorf("the write failed: %v", got.Failure)
			}
		})
	}
}

func TestReadsOfATypeThatIsNotServed(t *testing.T) {
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
		return map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1",
			"kind":       "APIService",
			"metadata":   map[string]any{"name": "x"},
			"spec":       spec,
		}
	}
	for _, c := range []struct {
		name     string
		answers  []answer
		want     []string
		presence plan.Presence
		failure  plan.WaitReason
	}{
		{
			"confirm the end of an object if nothing defines its type",
			[]answer{list(definition("example.com", "Other")), list(service("example.com", map[string]any{}))},
			[]string{definitions, services},
			plan.Absent, "",
		},
		{
			"confirm the end of an object if its type was defined again with another scope",
			[]answer{list(scoped("example.com", "Widget", "Cluster")), list()},
			[]string{definitions, services},
			plan.Absent, "",
		},
		{
			"fail if a definition exists and is not established",
			[]answer{list(definition("example.com", "Widget"))},
			[]string{definitions},
			plan.Unknown, plan.WaitNotServed,
		},
		{
			"fail if an aggregated API does not answer",
			[]answer{list(), list(service("example.com", map[string]any{"service": map[string]any{"name": "s"}}))},
			[]string{definitions, services},
			plan.Unknown, plan.WaitNotServed,
		},
		{
			"fail if definitions cannot be listed",
			[]answer{status(403, metav1.StatusReasonForbidden)},
			[]string{definitions},
			plan.Unknown, "Forbidden",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			a := plan.Action{
				Verb:          plan.VerbRead,
				Key:           manifests.Key{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: "w"},
				Version:       "v1",
				Preconditions: plan.Preconditions{UID: "u1"},
			}
			got := e.Run(t.Context(), nil, []plan.Action{a})[0]
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
			checkResult(t, got, plan.VerbRead, c.presence, c.failure)
		})
	}
}
