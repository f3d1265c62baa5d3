package dependentcauses

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// timeout bounds the time of all reads for one status, or for one dependent.
	timeout = 10 * time.Second
	// maxPods is the maximum number of pods of a dependent whose Events, claims and logs are read.
	maxPods = 3
	// maxItems is the maximum number of items that a list request returns.
	maxItems = 500
)

// notReady are the reasons that the status reports for dependents that exist and are not ready.
var notReady = []string{"InProgress", metav1alpha1.ReasonDependentFailed, metav1alpha1.ReasonTimeout}

// OfStatus returns the causes of the dependents that exist and are not ready according to a status. The keys are the
// names of the dependents in the status. If the dependents are in another cluster, it returns no causes.
func OfStatus(ctx context.Context, c *cluster.Cluster, status metav1alpha1.Status) map[string][]Cause {
	found := map[string][]Cause{}
	if status.TargetCluster != "" {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, w := range status.Waiting {
		key, ok := manifests.ParseKey(w.Dependent)
		if !ok || !slices.Contains(notReady, w.Reason) {
			continue
		}
		if of := Find(ctx, c, key); len(of) > 0 {
			found[w.Dependent] = of
		}
	}
	return found
}

// maxNodes bounds the dependents of a tree whose causes are looked for.
const maxNodes = 10

// OfNodes returns the causes of the dependents in a tree that exist and are not ready, by the names of the dependents.
func OfNodes(ctx context.Context, c *cluster.Cluster, nodes []tree.Node) map[string][]Cause {
	found, searched := map[string][]Cause{}, 0
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, n := range nodes {
		if n.State != result.NodeInProgress && n.State != result.NodeFailed || searched == maxNodes {
			continue
		}
		searched++
		if of := Find(ctx, c, n.Key); len(of) > 0 {
			found[n.Key.String()] = of
		}
	}
	return found
}

// Find reads a dependent that is not ready and its related objects, and returns the causes. If the dependent cannot be
// read, it returns no causes.
func Find(ctx context.Context, c *cluster.Cluster, key manifests.Key) []Cause {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// A Secret has no status, so there is no reason to read its data.
	if key.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return nil
	}
	mapping, err := c.RESTMapper().RESTMapping(key.GroupKind())
	if err != nil {
		return nil
	}
	dependent := &unstructured.Unstructured{}
	dependent.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, dependent); err != nil {
		return nil
	}
	g := gatherer{cluster: c, facts: Facts{
		Dependent: dependent, MissingClasses: map[string]bool{},
		Warnings: map[types.UID][]corev1.Event{}, LastLines: map[Container]string{},
	}}
	g.gather(ctx)
	return Decide(g.facts)
}

// gatherer collects the facts about one dependent. Its methods leave out objects that cannot be read.
type gatherer struct {
	cluster *cluster.Cluster
	facts   Facts
}

func (g *gatherer) gather(ctx context.Context) {
	dependent := g.facts.Dependent
	g.addWarnings(ctx, dependent)
	switch gk := dependent.GroupVersionKind().GroupKind(); {
	case gk == schema.GroupKind{Kind: "Pod"}:
		var pod corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(dependent.Object, &pod) == nil {
			g.facts.Pods = []corev1.Pod{pod}
		}
	case gk == claimKind:
		g.addClaim(ctx, dependent.GetNamespace(), dependent.GetName())
	case isWorkload(gk):
		g.addWorkload(ctx)
	default:
		g.addServices(ctx, servicesOf(dependent))
	}
	waiting := unready(g.facts.Pods)
	for i := range waiting[:min(len(waiting), maxPods)] {
		g.addPod(ctx, &waiting[i])
	}
}

// addWorkload adds the ReplicaSets and pods of a workload.
func (g *gatherer) addWorkload(ctx context.Context) {
	dependent := g.facts.Dependent
	fields, found, _ := unstructured.NestedMap(dependent.Object, "spec", "selector")
	var wanted metav1.LabelSelector
	if !found || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &wanted) != nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(&wanted)
	if err != nil {
		return
	}
	controllers := []types.UID{dependent.GetUID()}
	if dependent.GetKind() == "Deployment" {
		g.addReplicaSets(ctx, selector)
		for _, set := range g.facts.ReplicaSets {
			controllers = append(controllers, set.GetUID())
		}
	}
	var list corev1.PodList
	if g.list(ctx, &list, dependent.GetNamespace(), client.MatchingLabelsSelector{Selector: selector}) != nil {
		return
	}
	for i := range list.Items {
		if ref := metav1.GetControllerOfNoCopy(&list.Items[i]); ref != nil && slices.Contains(controllers, ref.UID) {
			g.facts.Pods = append(g.facts.Pods, list.Items[i])
		}
	}
}

func (g *gatherer) addReplicaSets(ctx context.Context, selector labels.Selector) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSetList"})
	if g.list(ctx, list, g.facts.Dependent.GetNamespace(), client.MatchingLabelsSelector{Selector: selector}) != nil {
		return
	}
	for _, set := range list.Items {
		if ref := metav1.GetControllerOfNoCopy(&set); ref == nil || ref.UID != g.facts.Dependent.GetUID() {
			continue
		}
		g.facts.ReplicaSets = append(g.facts.ReplicaSets, set)
		if replicas, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); replicas > 0 {
			g.addWarnings(ctx, &set)
		}
	}
}

// addPod adds the Events, the claims and the last lines of the logs of a pod.
func (g *gatherer) addPod(ctx context.Context, pod *corev1.Pod) {
	g.addWarnings(ctx, pod)
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil:
			g.addClaim(ctx, pod.Namespace, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			g.addClaim(ctx, pod.Namespace, pod.Name+"-"+volume.Name)
		}
	}
	for _, c := range containersOf(pod) {
		if ended, previous := failureOf(c); ended != nil {
			g.facts.LastLines[Container{Pod: pod.UID, Name: c.Name}] = g.lastLine(ctx, pod, c.Name, previous)
		}
	}
}

// lastLine returns the last non-empty line of a container's log, or "" if the log cannot be read.
func (g *gatherer) lastLine(ctx context.Context, pod *corev1.Pod, container string, previous bool) string {
	log, err := g.cluster.Log(ctx, pod.Namespace, pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: new(int64(5)), LimitBytes: new(int64(16 << 10)),
	})
	if err != nil {
		return ""
	}
	defer func() { _ = log.Close() }()
	text, err := io.ReadAll(log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// addClaim adds a claim, its Events, and the name of its storage class if the class is missing.
func (g *gatherer) addClaim(ctx context.Context, namespace, name string) {
	var claim corev1.PersistentVolumeClaim
	if g.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &claim) != nil {
		return
	}
	g.facts.Claims = append(g.facts.Claims, claim)
	if claim.Status.Phase == corev1.ClaimBound {
		return
	}
	g.addWarnings(ctx, &claim)
	if class := classOf(&claim); class != "" {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"})
		g.facts.MissingClasses[class] = apierrors.IsNotFound(g.cluster.Get(ctx, client.ObjectKey{Name: class}, obj))
	}
}

// addServices adds the services that have no ready endpoint.
func (g *gatherer) addServices(ctx context.Context, services []manifests.Key) {
	for _, key := range services {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSliceList",
		})
		err := g.list(ctx, list, key.Namespace, client.MatchingLabels{"kubernetes.io/service-name": key.Name})
		if err == nil && !slices.ContainsFunc(list.Items, hasReadyEndpoint) {
			g.facts.WithoutEndpoints = append(g.facts.WithoutEndpoints, key)
		}
	}
}

func hasReadyEndpoint(slice unstructured.Unstructured) bool {
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	return slices.ContainsFunc(endpoints, func(item any) bool {
		endpoint, _ := item.(map[string]any)
		// A missing condition "ready" means true, according to the API of EndpointSlices.
		ready, found, _ := unstructured.NestedBool(endpoint, "conditions", "ready")
		return endpoint != nil && (ready || !found)
	})
}

// servicesOf returns the services that an APIService or a webhook configuration sends requests to, sorted.
func servicesOf(obj *unstructured.Unstructured) []manifests.Key {
	var references []map[string]any
	switch gk := obj.GroupVersionKind().GroupKind(); gk.Group {
	case "apiregistration.k8s.io":
		if ref, found, _ := unstructured.NestedMap(obj.Object, "spec", "service"); found {
			references = append(references, ref)
		}
	case "admissionregistration.k8s.io":
		webhooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
		for _, item := range webhooks {
			webhook, _ := item.(map[string]any)
			if ref, found, _ := unstructured.NestedMap(webhook, "clientConfig", "service"); found {
				references = append(references, ref)
			}
		}
	}
	var keys []manifests.Key
	for _, ref := range references {
		namespace, _ := ref["namespace"].(string)
		name, _ := ref["name"].(string)
		keys = append(keys, manifests.Key{Kind: "Service", Namespace: namespace, Name: name})
	}
	slices.SortFunc(keys, manifests.Key.Compare)
	return slices.Compact(keys)
}

// addWarnings adds the warning Events of an object. It selects them by UID, to exclude Events of an earlier object of
// the same name.
func (g *gatherer) addWarnings(ctx context.Context, obj client.Object) {
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var list corev1.EventList
	if g.list(ctx, &list, namespace, client.MatchingFields{
		"involvedObject.uid": string(obj.GetUID()), "type": corev1.EventTypeWarning,
	}) == nil {
		g.facts.Warnings[obj.GetUID()] = list.Items
	}
}

func (g *gatherer) list(
	ctx context.Context,
	list client.ObjectList,
	namespace string,
	matching client.ListOption,
) error {
	return g.cluster.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(maxItems), matching)
}
