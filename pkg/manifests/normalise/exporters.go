package normalise

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/objectmeta"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// addExporters adds the objects whose values an object binds to its settings: an object in the graph depends on them,
// and is written with this list, so that a deletion keeps the order. Other objects stay in their waves.
func (n normaliser) addExporters(objects []manifests.Object, bound depgraph.Needs) []error {
	var errs []error
	for i := range objects {
		exporters := bound[objects[i].Key]
		if len(exporters) == 0 {
			continue
		}
		if err := n.addExportersOf(&objects[i], exporters); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", objects[i].Key, err))
		}
	}
	return errs
}

func (n normaliser) addExportersOf(o *manifests.Object, exporters []manifests.Key) error {
	g := manifests.GraphSettings{}
	if o.Settings.Graph != nil {
		g = *o.Settings.Graph
	}
	g.Exporters = slices.SortedFunc(slices.Values(exporters), manifests.Key.Compare)
	o.Settings.Graph = &g
	if !o.InGraph() {
		return nil
	}
	g.DependsOn = slices.Clone(g.DependsOn)
	for _, exporter := range g.Exporters {
		required := func(d manifests.Dependency) bool {
			return !d.Optional && slices.Contains(d.In(o.Key.Namespace), exporter)
		}
		if exporter != o.Key && !slices.ContainsFunc(g.DependsOn, required) {
			g.DependsOn = append(g.DependsOn, manifests.Dependency{Key: exporter})
		}
	}
	if len(g.DependsOn) > settingtext.MaxDependencies {
		return fmt.Errorf(
			"annotation %s/%s: it has %d elements together with the objects whose values it binds, more than %d",
			n.Reconciler, manifests.AnnotationDependsOn, len(g.DependsOn), settingtext.MaxDependencies)
	}
	list := settingtext.JoinDependencies(g.DependsOn)
	if list == g.List {
		return nil
	}
	g.List = list
	annotations := o.Body.GetAnnotations()
	annotations[n.Reconciler+"/"+manifests.AnnotationDependsOn] = list
	delete(annotations, n.Reconciler+"/"+manifests.AnnotationOwnerID)
	delete(annotations, n.Reconciler+"/"+marks.AnnotationObject)
	delete(annotations, n.Reconciler+"/"+marks.AnnotationDigest)
	o.Body.SetAnnotations(annotations)
	labels := o.Body.GetLabels()
	if delete(labels, n.Reconciler+"/"+manifests.LabelOwnerID); len(labels) == 0 {
		labels = nil
	}
	o.Body.SetLabels(labels)
	var err error
	if o.Digest, err = digests.Manifest(o.Body.Object, n.Reconciler); err != nil {
		return err
	}
	mark(n.Owner, o.Body, n.Reconciler, o.Digest)
	return objectmeta.CheckAnnotations(o.Body.GetAnnotations())
}
