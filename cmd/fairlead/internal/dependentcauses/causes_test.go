package dependentcauses_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parsed converts a YAML text into a value of type T.
func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// facts contains the objects of dependentcauses.Facts as YAML texts.
type facts struct {
	dependent string
	sets      []string
	pods      []string
	claims    []string
	missing   string
	without   []manifests.Key
	warnings  map[types.UID][]string
	lines     map[dependentcauses.Container]string
}

func (f facts) parse(t *testing.T) dependentcauses.Facts {
	t.Helper()
	object := func(text string) unstructured.Unstructured {
		return parsed[unstructured.Unstructured](t, text)
	}
	dependent := object(f.dependent)
	result := dependentcauses.Facts{
		Dependent: &dependent, MissingClasses: map[string]bool{f.missing: f.missing != ""}, WithoutEndpoints: f.without,
		Warnings: map[types.UID][]corev1.Event{}, LastLines: f.lines,
	}
	for _, text := range f.sets {
		result.ReplicaSets = append(result.ReplicaSets, object(text))
	}
	for _, text := range f.pods {
		result.Pods = append(result.Pods, parsed[corev1.Pod](t, text))
	}
	for _, text := range f.claims {
		result.Claims = append(result.Claims, parsed[corev1.PersistentVolumeClaim](t, text))
	}
	for uid, texts := range f.warnings {
		for _, text := range texts {
			result.Warnings[uid] = append(result.Warnings[uid], parsed[corev1.Event](t, text))
		}
	}
	return result
}

const (
	job        = `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: migrate, uid: job}}`
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, uid: web}}`
	claim      = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data, uid: data}}`
	widget     = `{apiVersion: demo.example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, uid: w},
  status: {conditions: [{type: Ready, status: "False", reason: NoDisk, message: the disk is full},
    {type: Healthy, status: "True", message: fine}, {type: Quiet, status: "False"}]}}`
	noAccount = `{reason: FailedCreate, message: 'serviceaccount "none" not found', lastTimestamp: "2026-01-01T12:00:00Z"}`
)

// pod returns a pod with a status.
func pod(name, status string) string {
	return `{metadata: {namespace: shop, name: ` + name + `, uid: ` + name + `}, status: ` + status + `}`
}

func waiting(name, reason, message string) string {
	return pod(name, `{containerStatuses: [{name: main, state: {waiting: {reason: `+reason+`, message: "`+message+`"}}}]}`)
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		facts facts
		want  []string
	}{
		"a Job that cannot create pods has the reason of its event": {
			facts: facts{dependent: job, warnings: map[types.UID][]string{"job": {noAccount}}},
			want:  []string{`Job.batch shop/migrate: FailedCreate: serviceaccount "none" not found`},
		},
		"the event is ignored once the Job has a pod": {
			facts: facts{
				dependent: strings.TrimSuffix(job, "}") + `, status: {active: 1}}`,
				warnings:  map[types.UID][]string{"job": {noAccount}},
			},
		},
		"the latest event of each reason is a cause, the latest first": {
			facts: facts{dependent: widget, warnings: map[types.UID][]string{"w": {
				`{reason: B, message: old, lastTimestamp: "2026-01-01T12:00:00Z"}`,
				`{reason: A, message: first, lastTimestamp: "2026-01-01T12:01:00Z"}`,
				`{reason: B, message: new, eventTime: "2026-01-01T12:02:00.000000Z"}`,
			}}},
			want: []string{"Widget.demo.example.com shop/w: B: new", "Widget.demo.example.com shop/w: A: first"},
		},
		"a quota refuses pods of the ReplicaSet of a Deployment; events of an old ReplicaSet are ignored": {
			facts: facts{
				dependent: deployment,
				sets: []string{
					`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-1, uid: old}, spec: {replicas: 0}}`,
					`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-2, uid: new}, spec: {replicas: 2}}`,
				},
				warnings: map[types.UID][]string{
					"old": {`{reason: FailedCreate, message: long ago}`},
					"new": {`{reason: FailedCreate, message: "exceeded quota: none"}`},
				},
			},
			want: []string{"ReplicaSet.apps shop/web-2: FailedCreate: exceeded quota: none"},
		},
		"pods with the same problem have one cause, and a starting pod has none": {
			facts: facts{dependent: deployment, pods: []string{
				waiting("web-3", "ContainerCreating", ""),
				waiting("web-2", "ErrImagePull", "not found"),
				waiting("web-1", "ImagePullBackOff", "no such image"),
			}},
			want: []string{"Pod shop/web-1: ImagePullBackOff: container main: no such image"},
		},
		"a pod that cannot be scheduled": {
			facts: facts{dependent: deployment, pods: []string{pod("web-1",
				`{conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available"}]}`)}},
			want: []string{"Pod shop/web-1: Unschedulable: 0/1 nodes are available"},
		},
		"a crashing container has its exit code and the last line of its log, and the pod's event is ignored": {
			facts: facts{
				dependent: deployment,
				pods: []string{pod("web-1", `{containerStatuses: [{name: main, state: {waiting: {reason: CrashLoopBackOff}},
  lastState: {terminated: {exitCode: 3, reason: Error}}}]}`)},
				lines:    map[dependentcauses.Container]string{{Pod: "web-1", Name: "main"}: "no \x1b[31mdatabase"},
				warnings: map[types.UID][]string{"web-1": {`{reason: BackOff, message: back-off}`}},
			},
			want: []string{"Pod shop/web-1: CrashLoopBackOff: container main exited with code 3: no �[31mdatabase"},
		},
		"a pod whose init container failed": {
			facts: facts{dependent: job, pods: []string{
				pod("p",
					`{phase: Failed, initContainerStatuses: [{name: init, state: {terminated: {exitCode: 1, reason: Error}}}]}`),
			}},
			want: []string{"Pod shop/p: Error: container init exited with code 1"},
		},
		"a missing ConfigMap": {
			facts: facts{dependent: deployment, pods: []string{
				waiting("web-1", "CreateContainerConfigError", "configmap c not found"),
			}},
			want: []string{"Pod shop/web-1: CreateContainerConfigError: container main: configmap c not found"},
		},
		"the event of a pod whose status contains no problem": {
			facts: facts{
				dependent: deployment, pods: []string{waiting("web-1", "ContainerCreating", "")},
				warnings: map[types.UID][]string{"web-1": {`{reason: FailedMount, message: "secret s not found"}`}},
			},
			want: []string{"Pod shop/web-1: FailedMount: secret s not found"},
		},
		"pods that are ready, complete or being deleted have no cause": {
			facts: facts{
				dependent: deployment,
				pods: []string{
					pod("a", `{conditions: [{type: Ready, status: "True"}]}`), pod("b", `{phase: Succeeded}`),
					`{metadata: {namespace: shop, name: c, uid: c, deletionTimestamp: "2026-01-01T12:00:00Z"}}`,
				},
				warnings: map[types.UID][]string{"a": {noAccount}, "b": {noAccount}, "c": {noAccount}},
			},
		},
		"a claim whose storage class is missing": {
			facts: facts{
				dependent: claim, missing: "fast",
				claims: []string{`{metadata: {namespace: shop, name: data, uid: data}, spec: {storageClassName: fast}}`},
			},
			want: []string{`PersistentVolumeClaim shop/data: StorageClassNotFound: storage class "fast" does not exist`},
		},
		"a claim that is the dependent and cannot be provisioned is reported once": {
			facts: facts{
				dependent: claim,
				claims:    []string{`{metadata: {namespace: shop, name: data, uid: data}}`},
				warnings:  map[types.UID][]string{"data": {`{reason: ProvisioningFailed, message: no space}`}},
			},
			want: []string{"PersistentVolumeClaim shop/data: ProvisioningFailed: no space"},
		},
		"pending claims are listed after the pod that waits for them, and bound claims are no cause": {
			facts: facts{
				dependent: deployment,
				pods: []string{pod("web-1",
					`{conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no node}]}`)},
				claims: []string{
					`{metadata: {namespace: shop, name: b, uid: b}, spec: {storageClassName: slow}, status: {phase: Pending}}`,
					`{metadata: {namespace: shop, name: a, uid: a}, status: {phase: Pending}}`,
					`{metadata: {namespace: shop, name: c, uid: c}, status: {phase: Bound}}`,
				},
			},
			want: []string{
				"Pod shop/web-1: Unschedulable: no node",
				"PersistentVolumeClaim shop/a: Pending: no volume is bound, and the claim names no storage class",
				`PersistentVolumeClaim shop/b: Pending: no volume of storage class "slow" is bound`,
			},
		},
		"a service without ready endpoints": {
			facts: facts{
				dependent: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.demo},
  status: {conditions: [{type: Available, status: "False", message: "no response"}]}}`,
				without: []manifests.Key{{Kind: "Service", Namespace: "shop", Name: "api"}},
			},
			want: []string{"Service shop/api: NoReadyEndpoints: the service has no ready endpoint"},
		},
		"the false conditions of a custom resource without events": {
			facts: facts{dependent: widget},
			want:  []string{"Widget.demo.example.com shop/w: NoDisk: Ready is False: the disk is full"},
		},
		"conditions of a Deployment are no cause": {
			facts: facts{dependent: strings.TrimSuffix(deployment, "}") +
				`, status: {conditions: [{type: Available, status: "False", message: minimum}]}}`},
		},
		"three causes at most": {
			facts: facts{dependent: widget, warnings: map[types.UID][]string{"w": {
				`{reason: D, message: m}`, `{reason: C, message: m}`, `{reason: B, message: m}`, `{reason: A, message: m}`,
			}}},
			want: []string{
				"Widget.demo.example.com shop/w: A: m", "Widget.demo.example.com shop/w: B: m",
				"Widget.demo.example.com shop/w: C: m",
			},
		},
		"a message becomes one line of limited length": {
			facts: facts{dependent: widget, warnings: map[types.UID][]string{"w": {
				`{reason: A, message: "a\n  b ` + strings.Repeat("c", 1000) + `"}`,
			}}},
			want: []string{"Widget.demo.example.com shop/w: A: a b " + strings.Repeat("c", 396) + "…"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			parsed := c.facts.parse(t)
			var got []string
			for _, cause := range dependentcauses.Decide(parsed) {
				got = append(got, cause.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			slices.Reverse(parsed.Pods)
			slices.Reverse(parsed.Claims)
			for _, events := range parsed.Warnings {
				slices.Reverse(events)
			}
			var again []string
			for _, cause := range dependentcauses.Decide(parsed) {
				again = append(again, cause.String())
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("the result depends on the order of the facts: %s", diff)
			}
		})
	}
}
