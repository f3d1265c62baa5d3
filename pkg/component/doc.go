/*
Package component is for authors of operators. An operator turns a custom resource, the component, into a set of
objects, its dependents. A Reconciler does what every such operator needs: it applies the dependents in order, waits
until they are ready, repairs the rendered fields when somebody changes them, deletes dependents that are no longer
rendered, and deletes all of them, in reverse order, before the component disappears.

# What an author writes

  - A type that implements Component: two methods that return the parameters of the rendering and the status.
  - A generator that renders the dependents. generator.For makes one from a function. The packages below pkg/generator
    render Helm charts, kustomizations and Go templates.
  - A few lines of main that build the Reconciler and register it with a manager.

The import paths begin with github.com/fairlead-io/fairlead: pkg/component and its subpackages, such as
pkg/component/eventsource, pkg/generator, pkg/manifests, and api/meta/v1alpha1, which this page calls metav1alpha1.

The name of the reconciler, such as webpages.example.com, is a DNS name that is unique in the cluster. It is the field
manager of all writes, and the prefix of the annotations and the finalizer. Keep it: another name is another owner.

# A complete operator

A WebPage becomes a ConfigMap and a Deployment. The spec of the type is an ordinary struct. Its status embeds
metav1alpha1.Status, so that the reconciler can report conditions and the inventory of the dependents there:

	type WebPage struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitzero"`
		Spec              WebPageSpec   `json:"spec"`
		Status            WebPageStatus `json:"status,omitzero"`
	}

	type WebPageSpec struct {
		HTML string `json:"html"`
	}

	type WebPageStatus struct {
		metav1alpha1.Status `json:",inline"`
		URL                 string `json:"url,omitempty"`   // the fields of this operator
		Error               string `json:"error,omitempty"`
	}

	// GetParameters returns the parameters: the inputs of templates and charts. The whole spec is an input of the
	// rendering: when it changes, the dependents are rendered again.
	func (w *WebPage) GetParameters() (map[string]any, error) {
		return runtime.DefaultUnstructuredConverter.ToUnstructured(&w.Spec)
	}

	func (w *WebPage) GetStatus() *metav1alpha1.Status { return &w.Status.Status }

The type needs DeepCopyObject, which controller-gen writes, and a CustomResourceDefinition with the status subresource
(subresources: {status: {}}), whose schema keeps the fields of the status (x-kubernetes-preserve-unknown-fields, or the
schema that controller-gen derives). The generator returns typed or unstructured objects. Objects without a namespace
are placed in the namespace of the component, and req.Name is its name. The same inputs must give the same objects. The
status is no input. After an error of the generator nothing is applied, and the component is Stalled with the reason
GenerateFailed until an input changes:

	const reconcilerName = "webpages.example.com"

	func generate(_ context.Context, page *WebPage, req generator.Request) ([]client.Object, error) {
		meta := metav1.ObjectMeta{Name: req.Name}
		web := deployment(meta) // an *appsv1.Deployment that mounts the ConfigMap
		generator.Settings{Order: 1}.Annotate(web, reconcilerName)
		return []client.Object{
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"index.html": page.Spec.HTML}},
			web,
		}, nil
	}

The scheme of the manager has the type, and the built-in types. The reconciler is registered as any controller is:

	func main() {
		ctrl.SetLogger(zap.New())
		scheme := runtime.NewScheme()
		utilruntime.Must(clientgoscheme.AddToScheme(scheme))
		version := schema.GroupVersion{Group: "example.com", Version: "v1"}
		scheme.AddKnownTypes(version, &WebPage{}, &WebPageList{})
		metav1.AddToGroupVersion(scheme, version)
		mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme})
		if err == nil {
			reconciler := component.NewReconciler[*WebPage](reconcilerName, generator.For(generate), component.Options{})
			err = reconciler.SetupWithManager(mgr) // after WithHooks and AddEventSource, see below
		}
		if err == nil {
			err = mgr.Start(ctrl.SetupSignalHandler())
		}
		if err != nil {
			ctrl.Log.Error(err, "the operator ended")
			os.Exit(1)
		}
	}

The operator needs these rights in the cluster: get, list, watch and patch of the components, update of their status,
get of the namespace kube-system (its UID identifies the cluster), create and patch of Events in events.k8s.io, and get,
list, watch, create, patch, update and delete of the dependents. Two rights are optional, and the log names them if they
are missing: all verbs for Secrets, which hold the inventory of a component whose status is too small for it; and those
for validatingadmissionpolicies and their bindings, which protect new instances of a type that is being deleted. With
several replicas set ctrl.Options.LeaderElection. The folder examples has complete operators, with their tests; the
command "fairlead scaffold" writes the whole project: type, definition, rights, chart, tests.

# How a component comes to be Ready

A pass renders the dependents, compares them with the live objects, and writes what differs. It never waits: a watch on
the dependents starts the next pass. The dependents of a wave (the setting order) are written when all dependents of the
waves before are ready; readiness is that of kstatus, and conditions and an Analyzer can refine it. The condition Ready
of the component says whether all is done, and the status names each dependent that the component waits for, and why.
The inventory in the status is written before an object is created, so no dependent is ever lost.

A pass repairs what the manifests set. A field that no manifest sets, such as the replicas that an autoscaler writes,
belongs to others. Pods do not notice a changed ConfigMap: put a digest of its data into an annotation of the pod
template, and the Deployment restarts them.

Annotations of a manifest with the reconciler's name as prefix, such as webpages.example.com/order: "1", are settings of
that dependent: its wave, what happens when it changes, whether an existing object may be taken over, whether it is
deleted. generator.Settings writes them, and Options.Dependents.Policies has the defaults. By default an existing object
is taken over if nobody owns it, and is then deleted with the component; with the adoption policy never it is not. An
object of another component, of another controller, or of a tool such as Helm (which marks its objects by labels and
annotations) is never taken over by default.

# What a component can do besides

A component implements the optional interfaces whose behaviour it needs. Its spec can implement them, too, if the
component is a SpecHolder: func (w *WebPage) GetSpec() any { return &w.Spec }. The parts of package metav1alpha1, such
as SuspendSpec and PoliciesSpec, implement them when the spec embeds them. These are some of them; the index below lists
all:

  - Validator checks what the schema of the definition cannot express: Validate() error. After an error the component is
    Stalled with the reason InvalidSpec, and nothing of the new spec is applied.
  - ReferenceHolder names Secrets and ConfigMaps that are inputs, and values that other components publish; a change
    renders again. InputSelector chooses the fields of the spec that are inputs.
  - EmptyAllower permits a rendering without objects, which is an error otherwise. SourceHolder names an archive.
  - Placer, Targeter and ServiceAccountHolder choose the namespace, the cluster and the identity of the dependents.
  - Suspender, Timeouter, Retrier and Resyncer set the pace; PolicyHolder, IgnoreHolder and AdoptHolder the policies.
  - Exporter publishes values of dependents to other components.

Hooks are called at certain points of a pass, for example to copy the state of a dependent into the status:

	reconciler.WithHooks(component.Hooks[*WebPage]{
		PostPass: func(
			ctx context.Context, page *WebPage, dependents component.DependentReader, result component.PassResult,
		) error {
			key := manifests.Key{Group: "networking.k8s.io", Kind: "Ingress", Namespace: page.Namespace, Name: page.Name}
			ingress, err := component.As[*networkingv1.Ingress](dependents.Get(ctx, key))
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			return reconciler.UpdateStatus(ctx, page, func(p *WebPage) error {
				p.Status.URL = addressOf(ingress)
				p.Status.Error = ""
				if result.Failure != nil {
					p.Status.Error = result.Failure.Message
				}
				return nil
			})
		},
	})

The Ingress is nil if it does not exist. PostPass also runs after a pass that failed or that waits:
result.Outcome.Waiting names each dependent that is not ready. What a hook changes in its argument is not persisted;
UpdateStatus persists the status, and calls its function again after a conflict. A change of a dependent starts a pass,
so the status follows. A DependentReader sends a request for each object, except for the kinds that
Options.Watching.CacheFull lists. Errors of hooks are retried, except reconcile.TerminalError of controller-runtime.
RetryAfter sets the delay of the retry, and RefuseDeletion in PreDelete keeps the component.

Objects of any kind that are no dependents, and services outside the cluster, come in by event sources; see package
eventsource. With AsInput the generator gets their values:

	allowed := eventsource.Related("schema", eventsource.RelatedOptions[*WebPage, *corev1.ConfigMap]{
		Of: func(page *WebPage) []client.ObjectKey {
			return []client.ObjectKey{{Namespace: page.Namespace, Name: "webpage-schema"}}
		},
		Part: func(c *corev1.ConfigMap) any { return c.Data },
	})
	_, err := reconciler.AddEventSource(eventsource.AsInput(allowed))

	// In the generator: a list, because a component may be related to several objects. found is false without any object.
	schemas, found, err := generator.InputAs[[]map[string]string](req, "schema")

The operator reads related objects with its own rights, and the first pass over a component waits for the first value.

# Where to go next

  - Package generator: what a generator gets and returns; its subpackages, for charts, kustomizations and templates.
  - Package generatortest and package componenttest: tests of a generator, and of a whole operator.
  - Package eventsource: related objects, polled services, received values.
  - Package external: dependents outside Kubernetes, such as a DNS record.
  - Package tree: the live state of the dependents. Package result: what passes and previews report.
  - Package preview: what a pass would do. Package engine: the same engine in a controller of your own.
*/
package component
