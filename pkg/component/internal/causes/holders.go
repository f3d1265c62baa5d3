package causes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	// maxPods bounds the pods of a list, and maxNamed the pods that a text names.
	maxPods  = 500
	maxNamed = 3
)

var (
	pods  = corev1.SchemeGroupVersion.WithResource("pods")
	nodes = corev1.SchemeGroupVersion.WithResource("nodes")

	claimKind  = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumeKind = schema.GroupKind{Kind: "PersistentVolume"}
	podKind    = schema.GroupKind{Kind: "Pod"}
)

// readable are the types of objects whose live state says what holds them in their deletion.
var readable = map[schema.GroupKind]schema.GroupVersionResource{
	{Kind: "Namespace"}: corev1.SchemeGroupVersion.WithResource("namespaces"),
	volumeKind:          corev1.SchemeGroupVersion.WithResource("persistentvolumes"),
	podKind:             pods,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	},
	{Group: "apps", Kind: "Deployment"}:  {Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Kind: "DaemonSet"}:   {Group: "apps", Version: "v1", Resource: "daemonsets"},
	{Group: "apps", Kind: "ReplicaSet"}:  {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Kind: "StatefulSet"}: {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "batch", Kind: "Job"}:        {Group: "batch", Version: "v1", Resource: "jobs"},
}

// holderOf returns what holds an object that is being deleted: the pods that use a claim, the pods of a workload, the
// claim of a volume, the contents of a namespace. It returns an empty text if that is not known. If a right is missing,
// the text contains the command that shows it.
func holderOf(ctx context.Context, client dynamic.Interface, o Object) string {
	gk := o.Key.GroupKind()
	if gk == claimKind {
		return holders{
			namespace: o.Key.Namespace, what: "pods that use it",
			holds: func(pod *corev1.Pod) bool { return uses(pod, o.Key.Name) },
		}.describe(ctx, client)
	}
	resource, known := readable[gk]
	if !known {
		return ""
	}
	obj, err := client.Resource(resource).Namespace(o.Key.Namespace).Get(ctx, o.Key.Name, metav1.GetOptions{})
	if err != nil || obj.GetUID() != o.UID {
		return ""
	}
	switch gk.Group {
	case "apps", "batch":
		return podsOfWorkload(ctx, client, obj)
	case "":
		if gk == podKind {
			return nodeOf(ctx, client, obj)
		}
	}
	return held(obj)
}

// held returns what the live state of a volume, a namespace or a definition says about its deletion.
func held(obj *unstructured.Unstructured) string {
	if obj.GroupVersionKind().GroupKind() == volumeKind {
		namespace, _, _ := unstructured.NestedString(obj.Object, "spec", "claimRef", "namespace")
		name, bound, _ := unstructured.NestedString(obj.Object, "spec", "claimRef", "name")
		if !bound {
			return ""
		}
		return fmt.Sprintf("it is bound to PersistentVolumeClaim %s/%s", namespace, name)
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var texts []string
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		text := func(field string) string { value, _ := condition[field].(string); return value }
		isHeld := strings.HasPrefix(text("type"), "Namespace") || text("type") == "Terminating"
		if isHeld && text("status") == string(metav1.ConditionTrue) && text("message") != "" {
			texts = append(texts, text("type")+": "+strings.Join(strings.Fields(text("message")), " "))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// podsOfWorkload returns the pods that exist of a workload that is being deleted.
func podsOfWorkload(ctx context.Context, client dynamic.Interface, obj *unstructured.Unstructured) string {
	fields, found, _ := unstructured.NestedMap(obj.Object, "spec", "selector")
	var wanted metav1.LabelSelector
	if !found || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &wanted) != nil {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(&wanted)
	if err != nil || selector.Empty() {
		return ""
	}
	return holders{
		namespace: obj.GetNamespace(), selector: selector.String(), what: "pods that still exist",
		holds: func(*corev1.Pod) bool { return true },
	}.describe(ctx, client)
}

// holders are the pods of a namespace that hold an object.
type holders struct {
	namespace, selector string
	// what names the pods.
	what  string
	holds func(*corev1.Pod) bool
}

// describe lists the pods, and returns a text with their names, or an empty text if there are none.
func (h holders) describe(ctx context.Context, client dynamic.Interface) string {
	list, err := client.Resource(pods).Namespace(h.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: h.selector, Limit: maxPods,
	})
	if apierrors.IsForbidden(err) {
		command := "kubectl get pods -o wide -n " + h.namespace
		if h.selector != "" {
			command += " -l '" + h.selector + "'"
		}
		return command + " shows whether there are " + h.what
	}
	if err != nil {
		return ""
	}
	var names []string
	for _, item := range list.Items {
		var pod corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &pod) == nil && h.holds(&pod) {
			names = append(names, describePod(&pod))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	text := h.what + ": " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// uses reports whether a pod holds a claim. A pod without a node holds none, because no kubelet has mounted its
// volumes.
func uses(pod *corev1.Pod, claim string) bool {
	return pod.Spec.NodeName != "" && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim ||
			v.Ephemeral != nil && pod.Name+"-"+v.Name == claim
	})
}

// describePod returns the name of a pod with its node, and whether it has ended or is being deleted.
func describePod(pod *corev1.Pod) string {
	var facts []string
	switch phase := pod.Status.Phase; {
	case pod.DeletionTimestamp != nil:
		facts = append(facts, "it is being deleted")
	case phase == corev1.PodSucceeded || phase == corev1.PodFailed:
		facts = append(facts, string(phase))
	}
	if pod.Spec.NodeName != "" {
		facts = append(facts, "node "+pod.Spec.NodeName)
	}
	if len(facts) == 0 {
		return pod.Name
	}
	return pod.Name + " (" + strings.Join(facts, ", ") + ")"
}

// nodeOf returns whether the node of a pod can stop it.
func nodeOf(ctx context.Context, client dynamic.Interface, pod *unstructured.Unstructured) string {
	name, placed, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	if !placed {
		return ""
	}
	node, err := client.Resource(nodes).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "its node " + name + " does not exist"
	case err != nil:
		return fmt.Sprintf("its node %s has not stopped it; kubectl get node %s shows whether the node is ready", name, name)
	}
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] == string(corev1.NodeReady) && condition["status"] != string(metav1.ConditionTrue) {
			message, _ := condition["message"].(string)
			text := "its node " + name + " is not ready: " + strings.Join(strings.Fields(message), " ")
			return strings.TrimSuffix(text, ": ")
		}
	}
	return "its node " + name + " is ready, and has not stopped it yet"
}
