package inspect

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The labels and annotations with which other tools mark their objects.
const (
	helmRelease          = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
	helmKeep             = "helm.sh/resource-policy"
	managedBy            = "app.kubernetes.io/managed-by"

	argoTracking     = "argocd.argoproj.io/tracking-id"
	argoInstallation = "argocd.argoproj.io/installation-id"

	kappIdentity    = "kapp.k14s.io/identity"
	kappApp         = "kapp.k14s.io/app"
	kappAssociation = "kapp.k14s.io/association"

	fluxKustomization = "kustomize.toolkit.fluxcd.io/"
	fluxHelmRelease   = "helm.toolkit.fluxcd.io/"
)

// ToolMarks are the marks of other tools on an object: who the object belongs to by these marks, and the labels and
// annotations that a take-over removes. The labels app.kubernetes.io/managed-by and app.kubernetes.io/instance are no
// marks, because charts set them, and copies keep them.
type ToolMarks struct {
	By                  string
	Labels, Annotations []string
}

// toolMark is a rule for the mark of one tool. The function by returns who the object belongs to, or an empty string if
// the object does not have the mark.
type toolMark struct {
	by                  func(obj *unstructured.Unstructured) string
	labels, annotations []string
}

var toolMarks = []toolMark{
	{by: helmMark, annotations: []string{helmRelease, helmReleaseNamespace}, labels: []string{managedBy}},
	{by: argoMark, annotations: []string{argoTracking, argoInstallation}},
	{by: kappMark, annotations: []string{kappIdentity}, labels: []string{kappApp, kappAssociation}},
	{
		by: func(obj *unstructured.Unstructured) string {
			return fluxMark(obj, fluxKustomization, "the Flux Kustomization ")
		},
		labels: []string{fluxKustomization + "name", fluxKustomization + "namespace"},
	},
	{
		by: func(obj *unstructured.Unstructured) string {
			return fluxMark(obj, fluxHelmRelease, "the Flux HelmRelease ")
		},
		labels: []string{fluxHelmRelease + "name", fluxHelmRelease + "namespace"},
	},
}

// ToolMarksOf returns the marks of other tools on an object. The mark of Argo CD and of kapp counts only if it names
// the object itself, because copies of an object keep its annotations.
func ToolMarksOf(obj *unstructured.Unstructured) ToolMarks {
	var found ToolMarks
	var tools []string
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	for _, m := range toolMarks {
		by := m.by(obj)
		if by == "" {
			continue
		}
		tools = append(tools, by)
		for _, key := range m.labels {
			if value, set := labels[key]; set && (key != managedBy || value == "Helm") {
				found.Labels = append(found.Labels, key)
			}
		}
		for _, key := range m.annotations {
			if _, set := annotations[key]; set {
				found.Annotations = append(found.Annotations, key)
			}
		}
	}
	found.By = strings.Join(tools, " and ")
	return found
}

// ToolMarkOf returns the fact about the marks of an object without an owner that package plan needs. An object whose
// owner label another client has replaced belongs to some component, and nobody knows to which one.
func ToolMarkOf(key manifests.Key, obj *unstructured.Unstructured, reconciler string) *plan.ToolMark {
	found := plan.ToolMark{
		By: ToolMarksOf(obj).By, ReleasedBy: marks.ReleasedBy(obj.GetAnnotations(), reconciler),
	}
	id, _ := marks.OwnerOf(obj.GetLabels(), obj.GetAnnotations(), reconciler, "")
	if by := replacedBy(obj, reconciler, id); found.By == "" && id != "" && by != "" {
		found.By = "a component whose owner label another client has replaced (field manager " + named("", by) + ")"
	}
	if of, copied := marks.CopyOf(key, obj.GetAnnotations(), reconciler); copied {
		found.CopyOf = of.String()
	}
	if found == *unmarked {
		return unmarked
	}
	return &found
}

// unmarked is the fact about all objects without a mark.
var unmarked = new(plan.ToolMark)

// helmMark names the Helm release of an object. Helm leaves an object with the policy keep in the cluster when it
// uninstalls the release, with its mark, and only the records of Helm show whether the release still exists.
func helmMark(obj *unstructured.Unstructured) string {
	annotations := obj.GetAnnotations()
	if annotations[helmRelease] == "" {
		return ""
	}
	by := "the Helm release " + named(annotations[helmReleaseNamespace], annotations[helmRelease])
	if annotations[helmKeep] == "keep" {
		by += " (which keeps it when it is uninstalled, so the release may not exist any more)"
	}
	return by
}

// argoMark names the application of Argo CD of an object. The tracking id has the form
// APPLICATION:GROUP/KIND:NAMESPACE/NAME. An application outside the namespace of Argo CD has the form NAMESPACE_NAME.
// The namespace of a cluster-scoped object is the destination of its application.
func argoMark(obj *unstructured.Unstructured) string {
	parts := strings.SplitN(obj.GetAnnotations()[argoTracking], ":", 3)
	if len(parts) != 3 || parts[0] == "" {
		return ""
	}
	gvk := obj.GroupVersionKind()
	namespace, name, _ := strings.Cut(parts[2], "/")
	if parts[1] != gvk.Group+"/"+gvk.Kind || name != obj.GetName() ||
		obj.GetNamespace() != "" && namespace != obj.GetNamespace() {
		return ""
	}
	home, application, qualified := strings.Cut(parts[0], "_")
	if !qualified {
		home, application = "", parts[0]
	}
	return "the Argo CD application " + named(home, application)
}

// kappMark names the kapp application of an object. The identity has the form v1;NAMESPACE/GROUP/KIND/NAME;APIVERSION.
func kappMark(obj *unstructured.Unstructured) string {
	parts := strings.Split(obj.GetAnnotations()[kappIdentity], ";")
	gvk := obj.GroupVersionKind()
	self := strings.Join([]string{obj.GetNamespace(), gvk.Group, gvk.Kind, obj.GetName()}, "/")
	if len(parts) != 3 || parts[1] != self {
		return ""
	}
	app := obj.GetLabels()[kappApp]
	if app == "" {
		return "a kapp application"
	}
	return "the kapp application with the label " + kappApp + "=" + named("", app)
}

// fluxMark names the Kustomization or HelmRelease of Flux of an object.
func fluxMark(obj *unstructured.Unstructured, prefix, kind string) string {
	labels := obj.GetLabels()
	if labels[prefix+"name"] == "" {
		return ""
	}
	return kind + named(labels[prefix+"namespace"], labels[prefix+"name"])
}

// maxMark is the maximum length of a name in a mark, in bytes. Everybody who may write an object may write its mark.
const maxMark = 253

// named returns a name with its namespace. Names that Kubernetes does not permit are quoted.
func named(namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	if len(name) > maxMark {
		name = strings.ToValidUTF8(name[:maxMark], "")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		return strconv.Quote(name)
	}
	return name
}

func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || slices.Contains([]rune("-._/"), r)
}
