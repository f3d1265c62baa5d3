package conformance_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Changes that the API server refuses:", func() {
	// inLaterWave returns a manifest of a flow mapping in the wave after that of the ConfigMap good. NAME is unique.
	inLaterWave := func(text, unique string) string {
		return strings.ReplaceAll(strings.Replace(text, "metadata: {", "metadata: {annotations: {"+order(1)+"}, ", 1),
			"NAME", unique)
	}
	const (
		frozenMap    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, immutable: true, data: {a: VALUE}}`
		frozenSecret = `{apiVersion: v1, kind: Secret, metadata: {name: bad}, immutable: true, stringData: {a: VALUE}}`
		binding      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: bad}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: VALUE}}`
		global       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: NAME}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME-VALUE}}`
		storage      = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAME}, provisioner: example.com/a, parameters: {a: VALUE}}`
		attributes   = `{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: NAME}, driverName: example.com/a, parameters: {a: VALUE}}`
		driver       = `{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: NAME}, spec: {attachRequired: VALUE}}`
		priority     = `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAME}, value: VALUE}`
		ingress      = `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: NAME}, spec: {controller: example.com/VALUE}}`
		runtimeClass = `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: NAME}, handler: VALUE}`
		claim        = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: bad}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: VALUE}}}}`
		volume       = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: NAME}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], SOURCE}}`
		slice        = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: bad}, addressType: VALUE}`
		service      = `{apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {type: NodePort, ports: [VALUE]}}`
		quota        = `{apiVersion: v1, kind: ResourceQuota, metadata: {name: bad}, spec: {scopes: [VALUE]}}`
		pod          = `{apiVersion: v1, kind: Pod, metadata: {name: bad}, spec: {containers: [{name: a, image: a, command: [VALUE]}]}}`
		job          = `{apiVersion: batch/v1, kind: Job, metadata: {name: bad}, spec: {completions: VALUE, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`
		set          = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: bad}, spec: {serviceName: VALUE, replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`
		replication  = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: bad}, spec: {selector: {matchLabels: {a: VALUE}}, template: {metadata: {labels: {a: VALUE}}, spec: {nodeSelector: {none: none}, containers: [{name: a, image: a}]}}}}`
		revision     = `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: bad}, revision: 1, data: {a: VALUE}}`
		attachment   = `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: NAME}, spec: {attacher: VALUE, nodeName: a, source: {persistentVolumeName: a}}}`
		address      = `{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 192.0.2.7}, spec: {parentRef: {resource: services, namespace: a, name: VALUE}}}`
		cidr         = `{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: NAME}, spec: {cidrs: [VALUE]}}`
		template     = `{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: bad}, spec: {spec: {devices: {requests: [{name: VALUE, exactly: {deviceClassName: a}}]}}}}`
		device       = `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: bad}, spec: {devices: {requests: [{name: VALUE, exactly: {deviceClassName: a}}]}}}`
		secretType   = `{apiVersion: v1, kind: Secret, metadata: {name: bad}, type: VALUE}`
	)
	DescribeTable("nothing of a set with such a change is written, and one message names the object and the field",
		func(ctx SpecContext, text, before, after, want string) {
			namespace := newNamespace(ctx)
			bad := func(value string) string {
				if value == "" {
					return configMap("other", "a", order(1))
				}
				return inLaterWave(strings.NewReplacer("VALUE", value, "SOURCE", value).Replace(text), namespace)
			}
			g := newGadget(ctx, namespace, "app", together(configMap("good", "a"), bad(before)))
			Eventually(ctx, func() ([]metav1alpha1.InventoryEntry, error) {
				return metav1alpha1.ParseInventory(current(ctx, g).Status.Inventory)
			}).Should(And(HaveLen(2), HaveEach(HaveField("Digest", Not(BeEmpty())))))
			changeManifests(ctx, g, together(configMap("good", "b"), bad(after)))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring(want)))
			Expect(content(ctx, "ConfigMap", namespace, "good")).To(HaveKeyWithValue("value", "a"))
			Expect(current(ctx, g).Status.Waiting).To(HaveLen(1))
			remove(ctx, g)
		},
		Entry("data of an immutable ConfigMap", frozenMap, "b", "c", "data"),
		Entry("data of an immutable Secret", frozenSecret, "b", "c", "data"),
		Entry("the role of a binding", binding, "b", "c", "roleRef"),
		Entry("the role of a global binding", global, "b", "c", "roleRef"),
		Entry("parameters of a storage class", storage, "b", "c", "parameters"),
		Entry("parameters of a class of volume attributes", attributes, "b", "c", "parameters"),
		Entry("a field of a storage driver", driver, "true", "false", "attachedRequired"),
		Entry("the value of a priority class", priority, "7", "8", "value"),
		Entry("the controller of an ingress class", ingress, "b", "c", "spec.controller"),
		Entry("the handler of a runtime class", runtimeClass, "b", "c", "handler"),
		Entry("a smaller claim", claim, "2Gi", "1Gi", "spec"),
		Entry("the source of a volume", volume, "hostPath: {path: /a}", "nfs: {server: a, path: /a}", "spec"),
		Entry("the kind of the addresses of a slice", slice, "IPv4", "IPv6", "addressType"),
		Entry("a port twice in a Service", service, "{port: 80}", "{name: a, port: 80}, {name: b, port: 80}", "ports"),
		Entry("a name of a port twice in a Service", service, "{port: 80}", "{name: a, port: 80}, {name: a, port: 81}",
			"ports"),
		Entry("several ports without names in a Service", service, "{port: 80}", "{port: 80}, {port: 81}", "ports"),
		Entry("a new Service with several ports without names", service, "", "{port: 80}, {port: 81}", "ports"),
		Entry("the scopes of a quota", quota, "BestEffort", "NotBestEffort", "scopes"),
		Entry("a command of a Pod", pod, "b", "c", "spec"),
		Entry("the completions of a Job", job, "1", "2", "spec.completions"),
		Entry("the service of a StatefulSet", set, "b", "c", "spec"),
		Entry("the selector of a DaemonSet", replication, "b", "c", "spec.selector"),
		Entry("the data of a revision", revision, "b", "c", "data"),
		Entry("the driver of an attachment", attachment, "example.com-b", "example.com-c", "spec"),
		Entry("the owner of an address", address, "b", "c", "parentRef"),
		Entry("the range of a ServiceCIDR", cidr, "192.0.2.0/28", "192.0.2.16/28", "cidrs"),
		Entry("a template of claims for devices", template, "b", "c", "spec"),
		Entry("a claim for devices", device, "b", "c", "spec"),
		Entry("the type of a Secret", secretType, "example.com/a", "example.com/b", "type"),
	)

	It("the range of node ports is not known before the write, because a dry run does "+
		"not check it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		bad := strings.Replace(service, "VALUE", "{port: 80, nodePort: 80}", 1)
		// The API server cannot allocate addresses at once after its start.
		Eventually(ctx, func() error { return k8s.Create(ctx, objectIn(bad, namespace), client.DryRunAll) }).Should(Succeed())
		g := newGadget(ctx, namespace, "app", together(configMap("good", "a"), inLaterWave(bad, namespace)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("nodePort")))
	})

	It("an object of a type that cannot be watched is refused before the waves and stages before "+
		"it are written", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("good", "a"),
			inLaterWave(`{apiVersion: v1, kind: ComponentStatus, metadata: {name: NAME}}`, namespace)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix(invalidSet), ContainSubstring("cannot be a dependent")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("an object of a later wave that the identity may not watch is checked before earlier "+
		"waves are written", func(ctx SpecContext) {
		t := newTenancy(ctx)
		permit(ctx, t.namespace, "deployer", t.account, "'' | configmaps | get, create, patch, delete")
		runOperator(t.operator, t.options)
		good := func(value string) string { return configMap("good", value, t.operator+"/order: '0'") }
		last := func(text string) string {
			return "{apiVersion: v1, kind: ConfigMap, metadata: {name: last, annotations: {" + t.operator + "/order: '1'}}, " +
				text + "}"
		}
		g := t.newGadget(ctx, together(good("a"), last("data: {a: 5}")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("/last (")))
		Expect(countConfigMaps(ctx, t.namespace)).To(BeZero())
		changeManifests(ctx, g, together(good("a"), last("immutable: true, data: {a: b}")))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(good("b"), last("immutable: true, data: {a: c}")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("/last (data")))
		Expect(content(ctx, "ConfigMap", t.namespace, "good")).To(HaveKeyWithValue("value", "a"))
	})
})
