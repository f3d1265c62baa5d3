package operator

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// Annotations of a Namespace that set the quotas of its components. The value "0" lifts the default for the namespace.
const (
	// AnnotationMaxDependents is the maximum number of dependents of all components in the namespace together.
	AnnotationMaxDependents = ReconcilerName + "/max-dependents"
	// AnnotationMaxSourceBytes is the maximum size of the source of each component, as a quantity such as 10Mi.
	AnnotationMaxSourceBytes = ReconcilerName + "/max-source-bytes"
)

// Quotas are the defaults for namespaces without annotations; zero means no limit.
type Quotas struct {
	Dependents  int64
	SourceBytes int64
}

// quotas reads the quotas of namespaces from their annotations.
type quotas struct {
	// namespaces is a cache of Namespaces, and components a cache of Components.
	namespaces, components client.Reader
	defaults               Quotas
}

// quota is the value of a quota, and the text that says where it is set.
type quota struct {
	limit int64
	setBy string
}

// namespaceMetadata returns an empty object with the metadata of a Namespace.
func namespaceMetadata() *metav1.PartialObjectMetadata {
	none := &metav1.PartialObjectMetadata{}
	none.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return none
}

// read returns a quota of a namespace. A namespace that the cache does not have yet is an error that is retried, so
// that nothing is written without its quota.
func (q quotas) read(ctx context.Context, namespace, annotation, flag string, byDefault int64) (quota, error) {
	live := namespaceMetadata()
	err := q.namespaces.Get(ctx, client.ObjectKey{Name: namespace}, live)
	if apierrors.IsNotFound(err) {
		return quota{}, component.RetryAfter(
			fmt.Errorf("the quotas of namespace %s are not known yet: %w", namespace, err),
			0,
		)
	}
	if err != nil {
		return quota{}, component.RetryAfter(fmt.Errorf("read the quotas of namespace %s: %w", namespace, err), 0)
	}
	text, set := live.Annotations[annotation]
	if !set {
		return quota{
			byDefault,
			fmt.Sprintf("the operator's flag --%s, which administrators set, or override by the annotation "+
				"%s of namespace %s,", flag, annotation, namespace),
		}, nil
	}
	limit, err := parseQuota(annotation, text)
	if err != nil {
		return quota{}, component.QuotaExceeded(
			fmt.Errorf("the annotation %s of namespace %s, which administrators set, is "+
				"%q: %w; nothing is written", annotation, namespace, text, err),
		)
	}
	return quota{
			limit,
			fmt.Sprintf("the annotation %s of namespace %s, which administrators set,", annotation, namespace),
		},
		nil
}

// parseQuota parses the value of an annotation.
func parseQuota(annotation, text string) (int64, error) {
	if annotation == AnnotationMaxDependents {
		limit, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, errors.New("want a whole number, such as 500, or 0 for no limit")
		}
		return int64(limit), nil
	}
	limit, err := resource.ParseQuantity(text)
	if err != nil || limit.Sign() < 0 {
		return 0, errors.New("want a number of bytes, such as 10Mi, or 0 for no limit")
	}
	return limit.Value(), nil
}

// ofDependents implements component.Limits.Quota.
func (q quotas) ofDependents(ctx context.Context, namespace string) (component.Quota, error) {
	found, err := q.read(ctx, namespace, AnnotationMaxDependents, "max-dependents-per-namespace", q.defaults.Dependents)
	return component.Quota{Dependents: int(found.limit), SetBy: found.setBy}, err
}

// watch returns the watch of Namespaces that starts passes over the components of a namespace when its quotas change.
func (q quotas) watch() component.Watch {
	changed := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !sameQuotas(e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	return component.Watch{Object: namespaceMetadata(), Map: q.inNamespace, Predicates: []predicate.Predicate{changed}}
}

// sameQuotas reports whether two versions of a Namespace have the same quotas.
func sameQuotas(a, b client.Object) bool {
	return !slices.ContainsFunc(
		[]string{AnnotationMaxDependents, AnnotationMaxSourceBytes},
		func(annotation string) bool {
			before, had := a.GetAnnotations()[annotation]
			after, has := b.GetAnnotations()[annotation]
			return had != has || before != after
		},
	)
}

// inNamespace returns all components in a namespace. It does not select the refused components, because the status of
// a component that was just refused may not be in the cache yet.
func (q quotas) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	list := &v1alpha1.ComponentList{}
	err := q.components.List(ctx, list, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "list the components of a changed quota", "namespace", namespace.GetName())
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// limited is a generator that refuses components whose source is larger than the quota of their namespace. The size is
// computed before the source is decoded.
type limited struct {
	generator.Generator
	quotas quotas
}

var (
	_ generator.Versioner = limited{}
	_ generator.Prover    = limited{}
)

// Version returns the version of the wrapped generator.
func (l limited) Version() string { return generator.VersionOf(l.Generator) }

// Generate implements generator.Generator.
func (l limited) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, _, err := l.Prove(ctx, req)
	return objects, err
}

// Prove implements generator.Prover.
func (l limited) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	c, ok := req.Component.(*v1alpha1.Component)
	if !ok {
		return generator.Prove(ctx, l.Generator, req)
	}
	found, err := l.quotas.read(
		ctx, c.Namespace, AnnotationMaxSourceBytes, "max-source-bytes", l.quotas.defaults.SourceBytes)
	if err != nil {
		return nil, false, err
	}
	if found.limit > 0 {
		size, err := sourceSize(c, req.References, req.Source, found.limit)
		if err != nil {
			return nil, false, err
		}
		if size > found.limit {
			return nil, false, component.QuotaExceeded(
				fmt.Errorf("%s allows %d bytes for the source of each component; the source of "+
					"this component is larger; nothing is written", found.setBy, found.limit),
			)
		}
	}
	return generator.Prove(ctx, l.Generator, req)
}

// sourceSize returns the number of bytes of a component's source: the files, or the uncompressed archive. If the size
// is above the limit, the result is any number above the limit. Missing and damaged sources have the size of the bytes
// that can be read; the rendering reports them.
func sourceSize(c *v1alpha1.Component, references generator.References, fetched fs.FS, limit int64) (int64, error) {
	switch spec := c.Spec.Source; {
	case fetched != nil:
		return source.Size(fetched)
	case spec.Inline != nil:
		size := int64(0)
		for _, content := range spec.Inline.Files {
			size += int64(len(content))
		}
		return size, nil
	case spec.ConfigMap != nil:
		data := references[configMapOf(c, spec.ConfigMap.Name)]
		size := int64(0)
		for key, content := range data {
			if strings.HasSuffix(key, archiveSuffix) {
				size += archiveSize(bytes.NewReader(content), limit)
			}
			size += int64(len(content))
		}
		return size, nil
	case spec.ConfigMaps != nil:
		var parts []io.Reader
		for _, name := range spec.ConfigMaps.Names {
			for _, part := range references[configMapOf(c, name)] {
				parts = append(parts, bytes.NewReader(part))
			}
		}
		return archiveSize(io.MultiReader(parts...), limit), nil
	}
	return 0, nil
}

func configMapOf(c *v1alpha1.Component, name string) generator.Reference {
	return generator.Reference{Kind: metav1alpha1.ConfigMapReference, Namespace: c.Namespace, Name: name}
}

// archiveSize returns the number of bytes of an uncompressed archive. It reads at most one byte more than the limit.
func archiveSize(archive io.Reader, limit int64) int64 {
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		return 0
	}
	// An error means that the archive is damaged. The rendering reports it.
	size, _ := io.CopyN(io.Discard, uncompressed, limit+1)
	return size
}

// withQuotas returns the generator and the options of a reconciler that enforces the quotas of namespaces.
func (o Options) withQuotas(
	mgr ctrl.Manager, g generator.Generator, options component.Options,
) (generator.Generator, component.Options) {
	if o.Quotas == nil {
		return g, options
	}
	q := quotas{namespaces: mgr.GetClient(), components: mgr.GetClient(), defaults: *o.Quotas}
	options.Limits.Quota = q.ofDependents
	options.Watching.Watches = append(options.Watching.Watches, q.watch())
	return limited{Generator: g, quotas: q}, options
}
