package ready_test

import (
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

func TestAJobIsReadyWhenItIsComplete(t *testing.T) {
	for name, c := range map[string]struct {
		job  string
		want ready.State
	}{
		"not started": {"{spec: {}}", ready.InProgress},
		"running":     {"{status: {startTime: '2026-01-01T00:00:00Z', active: 1}}", ready.InProgress},
		"succeeded, but not yet declared complete": {
			"{status: {startTime: '2026-01-01T00:00:00Z', succeeded: 1, conditions: [{type: SuccessCriteriaMet, " +
				"status: 'True'}]}}", ready.InProgress,
		},
		"complete": {
			"{status: {startTime: '2026-01-01T00:00:00Z', succeeded: 1, conditions: [{type: Complete, status: 'True'}]}}",
			ready.Ready,
		},
		"failed": {
			"{status: {startTime: '2026-01-01T00:00:00Z', failed: 1, conditions: [{type: Failed, status: 'True'}]}}",
			ready.Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(c.job), &job.Object); err != nil {
				t.Fatal(err)
			}
			job.SetAPIVersion("batch/v1")
			job.SetKind("Job")
			if got := ready.Of(job, ready.Hints{}); got.State != c.want {
				t.Errorf("the Job: want the state %s, got %s: %s", c.want, got.State, got.Message)
			}
		})
	}
}

func TestAnAPIServiceIsReadyWhenItIsAvailable(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		want   ready.Result
	}{
		"new": {"{}", ready.Result{State: ready.InProgress, Message: "not Available yet"}},
		"not answering": {
			"{conditions: [{type: Available, status: 'False', message: no endpoints}]}",
			ready.Result{State: ready.InProgress, Message: "not Available yet: no endpoints"},
		},
		"available": {
			"{conditions: [{type: Available, status: 'True', message: fine}]}",
			ready.Result{State: ready.Ready},
		},
	} {
		t.Run(name, func(t *testing.T) {
			service := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte("{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: "+c.status+
				"}"), &service.Object); err != nil {
				t.Fatal(err)
			}
			if got := ready.Of(service, ready.Hints{}); got != c.want {
				t.Errorf("the Service: want the result %v, got %v", c.want, got)
			}
		})
	}
}

func TestAPodThatRunsToCompletionIsReadyWhenItIs(t *testing.T) {
	const running = "{phase: %s, conditions: [{type: Ready, status: 'True'}]}"
	for _, c := range []struct {
		restart, phase string
		want           ready.State
	}{
		{"Always", "Running", ready.Ready},
		{"Never", "Running", ready.InProgress},
		{"OnFailure", "Running", ready.InProgress},
		{"Never", "Succeeded", ready.Ready},
		{"Never", "Failed", ready.Failed},
	} {
		t.Run(c.restart+" "+c.phase, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			text := "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: " + c.restart + "}, status: " +
				fmt.Sprintf(running, c.phase) + "}"
			if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
				t.Fatal(err)
			}
			if got := ready.Of(obj, ready.Hints{}); got.State != c.want {
				t.Errorf("the object has the wrong readiness %+v", got)
			}
		})
	}
}

// The controller of Argo Rollouts writes status.observedGeneration as a string.
func TestARolloutWithAnObservedGenerationThatIsAString(t *testing.T) {
	available := ready.Hints{Conditions: []string{"Available"}}
	const notRead = "its status cannot be read: looking up status.observedGeneration from resource: " +
		".status.observedGeneration accessor error: 5d9c7 is of the type string, expected int64"
	conditions := func(text string) string { return "conditions: [" + text + "]" }
	healthy := conditions("{type: Available, status: 'True'}, {type: Progressing, status: 'True'}")
	for _, c := range []struct {
		name, generation, status string
		hints                    ready.Hints
		want                     ready.Result
	}{
		{"healthy", "'2'", healthy, ready.Hints{}, ready.Result{State: ready.Ready}},
		{"a healthy object with a hint", "'2'", healthy, available, ready.Result{State: ready.Ready}},
		{
			"a status of an older generation", "'1'", healthy, available,
			ready.Result{State: ready.InProgress, Message: "Rollout generation is 2, but latest observed generation is 1"},
		},
		{
			"not available", "'2'", conditions("{type: Available, status: 'False', message: 1 of 3}"), available,
			ready.Result{State: ready.InProgress, Message: "not Available yet: 1 of 3"},
		},
		{
			"an observed generation that is a hash, without hints",
			"5d9c7", healthy,
			ready.Hints{},
			ready.Result{State: ready.Unknown, Message: notRead},
		},
		{
			"an observed generation that is a hash, with a hint that needs the generation", "5d9c7", healthy,
			ready.Hints{HasObservedGeneration: true},
			ready.Result{State: ready.Unknown, Message: notRead},
		},
		{
			"an observed generation that is a hash, with a satisfied hint",
			"5d9c7", healthy, available,
			ready.Result{State: ready.Ready},
		},
		{
			"an observed generation that is a hash, with several satisfied hints", "5d9c7", healthy,
			ready.Hints{HasObservedGeneration: true, HasReadyCondition: true},
			ready.Result{State: ready.InProgress, Message: "not Ready yet"},
		},
		{
			"an observed generation that is a hash, without the condition of the hint", "5d9c7", "conditions: []", available,
			ready.Result{State: ready.InProgress, Message: "not Available yet"},
		},
		{
			"an observed generation that is a hash, and a condition of an older generation", "5d9c7",
			conditions("{type: Available, status: 'True', observedGeneration: 1}"), available,
			ready.Result{
				State:   ready.InProgress,
				Message: "its condition Available was set for generation 1, but the object is at generation 2",
			},
		},
		{
			"an observed generation that is a hash, and a true condition Stalled", "5d9c7",
			conditions("{type: Available, status: 'True'}, {type: Stalled, status: 'True', message: stuck}"), available,
			ready.Result{State: ready.Failed, Message: "stuck"},
		},
		{
			"an observed generation that is a hash, and invalid conditions",
			"5d9c7", "conditions: none", available,
			ready.Result{State: ready.Unknown, Message: notRead},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rollout := widget(t, "status: {observedGeneration: "+c.generation+", "+c.status+"}")
			rollout.SetAPIVersion("argoproj.io/v1alpha1")
			rollout.SetKind("Rollout")
			before := rollout.DeepCopy()
			if got := ready.Of(rollout, c.hints); got != c.want {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
			if !reflect.DeepEqual(before, rollout) {
				t.Error("the computation of the readiness changed the object")
			}
		})
	}
}

// Kubernetes never writes a string into the status of a Deployment, but kinds of other API groups with a similar status
// may do so.
func TestADeploymentWithAnObservedGenerationThatIsAString(t *testing.T) {
	const status = "replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, " +
		"conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]"
	for generation, want := range map[string]ready.State{
		"'2'": ready.Ready, "'1'": ready.InProgress,
		"abc": ready.Unknown,
	} {
		d := widget(t, "spec: {replicas: 1}, status: {observedGeneration: "+generation+", "+status+"}")
		d.SetAPIVersion("apps/v1")
		d.SetKind("Deployment")
		if got := ready.Of(d, ready.Hints{}); got.State != want {
			t.Errorf("the observed generation %s: got %v, want %s", generation, got, want)
		}
	}
}

func TestTheMessageOfAWorkloadNamesTheObstacle(t *testing.T) {
	const quota = `pods "web-1" is forbidden: exceeded quota: none`
	for name, c := range map[string]struct{ kind, status, want string }{
		"quota": {
			"Deployment",
			`{observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '` +
				quota + `'}]}`,
			"Replicas: 0/1; FailedCreate: " + quota,
		},
		"no obstacle": {
			"Deployment", `{observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "False", message: x}]}`,
			"Replicas: 0/1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			text := fmt.Sprintf("{apiVersion: apps/v1, kind: %s, metadata: {generation: 1}, spec: {replicas: 1}, status: %s}",
				c.kind, c.status)
			if err := yaml.Unmarshal([]byte(text), obj); err != nil {
				t.Fatal(err)
			}
			if got := ready.Of(obj, ready.Hints{}); got.State != ready.InProgress || got.Message != c.want {
				t.Errorf("the object has the state %s: %s", got.State, got.Message)
			}
		})
	}
}
