package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/test/gadget"
)

type (
	thingRef     = external.Ref[componenttest.ThingSpec]
	thingCreated = external.Created[componenttest.Thing]
)

// readOnly is a kind that observes only.
type readOnly struct{ things componenttest.NamedThings }

func (k readOnly) Observe(ctx context.Context, r thingRef) (componenttest.Thing, error) {
	return k.things.Observe(ctx, r)
}

func (k readOnly) Identify(s componenttest.ThingSpec) string { return s.Name }

func (k readOnly) Match(s componenttest.ThingSpec, t componenttest.Thing) string {
	return k.things.Match(s, t)
}

func (k readOnly) Ready(t componenttest.Thing) (bool, string) { return k.things.Ready(t) }

// permanent is a kind without Deleter and Updater, whose value cannot be changed.
type permanent struct{ readOnly }

func (k permanent) Create(ctx context.Context, r thingRef) (thingCreated, error) {
	return k.things.Create(ctx, r)
}

// fixed is a kind whose value cannot be changed.
type fixed struct{ componenttest.Things }

func (fixed) ImmutableChanges(applied, desired componenttest.ThingSpec) []string {
	if applied.Value != desired.Value {
		return []string{"spec.value"}
	}
	return nil
}

func (fixed) Validate(s componenttest.ThingSpec) error {
	if strings.Contains(s.Value, " ") {
		return errors.New("spec.value: blanks are not allowed")
	}
	return nil
}

// stubborn is a kind whose Update succeeds, and changes nothing.
type stubborn struct{ componenttest.Things }

func (k stubborn) Update(ctx context.Context, r thingRef, _ componenttest.Thing) (componenttest.Thing, error) {
	return k.Observe(ctx, r)
}

// List implements external.Lister. The things are in no list.
func (stubborn) List(context.Context, external.Account) (map[string]componenttest.Thing, error) {
	return nil, nil
}

// broken is a kind that panics, hangs, or returns nonsense.
type broken struct{ componenttest.Things }

func (k broken) Create(ctx context.Context, r thingRef) (thingCreated, error) {
	switch r.Spec.Value {
	case "panic":
		panic("broken on purpose")
	case "hang":
		<-ctx.Done()
		return thingCreated{}, ctx.Err()
	default:
		return thingCreated{}, nil // no id
	}
}

// withPassword is a kind that needs a password.
type withPassword struct {
	componenttest.Things
	passwords *atomic.Value
}

func (k withPassword) Observe(ctx context.Context, r thingRef) (componenttest.Thing, error) {
	password := ""
	for _, data := range r.References {
		password = string(data["password"])
	}
	k.passwords.Store(password)
	t, err := k.Things.Observe(ctx, r)
	if strings.HasPrefix(password, "wrong") {
		return t, external.Refused(fmt.Errorf("the password %s is wrong", password))
	}
	return t, err
}

// moreKinds are the drivers of the kinds above, besides those of cloudKinds.
func moreKinds(cloud *componenttest.Cloud, passwords *atomic.Value) []external.Driver {
	things, short := componenttest.Things{Cloud: cloud}, quick
	short.Timeout = 300 * time.Millisecond
	reads := readOnly{componenttest.NamedThings{Things: things}}
	return append(cloudKinds(cloud),
		external.Of("ReadOnlyNamedThing", reads, quick),
		external.Of("PermanentNamedThing", permanent{reads}, quick),
		external.Of("FixedThing", fixed{things}, quick),
		external.Of("StubbornThing", stubborn{things}, quick),
		external.Of("BrokenThing", broken{things}, short),
		external.Of("PasswordThing", withPassword{things, passwords}, quick),
		external.Of("ListedThing", componenttest.ListedThings{Things: things}, quick),
	)
}

var _ = Describe("Externals of all kinds:", func() {
	var (
		cloud     *componenttest.Cloud
		passwords *atomic.Value
		operator  string
		namespace string
		stop      func()
	)
	run := func(o operatorOptions) {
		o.component.Externals = moreKinds(cloud, passwords)
		stop = runOperator(operator, o)
	}
	BeforeEach(func(ctx SpecContext) {
		cloud, passwords, operator = componenttest.NewCloud(), &atomic.Value{}, newOperatorName()
		passwords.Store("")
		cloud.Put(foreignThing)
		namespace = newNamespace(ctx)
		run(operatorOptions{})
	})
	set := func(name, value string) string { return fmt.Sprintf("%s/%s: %q", operator, name, value) }
	newApp := func(ctx context.Context, text string, edits ...func(*gadget.Gadget)) *gadget.Gadget {
		GinkgoHelper()
		return newGadget(ctx, namespace, "app", text, append(edits, servedBy(operator))...)
	}
	// waiting returns the messages of the conditions and of the dependents that the component waits for.
	waiting := func(ctx context.Context, g *gadget.Gadget) func() string {
		return func() string {
			latest := current(ctx, g)
			text := condition(latest, metav1alpha1.ConditionReady) + "\n" + condition(latest, metav1alpha1.ConditionStalled)
			for _, w := range latest.Status.Waiting {
				text += "\n" + w.Dependent + " " + w.Reason + ": " + w.Message
			}
			return text
		}
	}
	events := func(ctx context.Context) func() string {
		return func() string {
			var list corev1.EventList
			Expect(k8s.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			text := ""
			for _, e := range list.Items {
				text += e.Reason + " " + e.Message + "\n"
			}
			return text
		}
	}
	// named returns a manifest with the kind, and the name as id.
	named := func(kind, name, value string, annotations ...string) string {
		text := thing(kind, name, value, annotations...)
		return strings.TrimSuffix(text, "}\n") + ", name: " + name + "}\n"
	}

	Describe("adoption", func() {
		theirs := componenttest.Thing{ID: "theirs", Value: "old"}
		DescribeTable("an external that exists under the id of its manifest", func(ctx SpecContext, kind, policy string,
			adopted bool,
		) {
			cloud.Put(theirs)
			annotations := []string{set("adoption-policy", policy)}
			if kind == "Thing" {
				annotations = append(annotations, set("external-id", theirs.ID))
			}
			g := newApp(ctx, thing(kind, theirs.ID, "new", annotations...))
			if adopted {
				expectReady(ctx, g)
				Expect(ownThings(cloud)).To(Equal([]string{"new"}))
				remove(ctx, g)
				expectNotFound(ctx, g)
				Expect(ownThings(cloud)).To(BeEmpty())
				return
			}
			Eventually(waiting(ctx, g)).Should(ContainSubstring("adopt"))
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(cloud.Things()).To(ContainElement(theirs))
			Expect(cloud.Calls("Create")).To(BeZero())
		},
			Entry("named by external-id, is adopted by the policy if-unowned", "Thing", "if-unowned", true),
			Entry("named by external-id, is adopted by the policy always", "Thing", "always", true),
			Entry("named by external-id, is not adopted by the policy never", "Thing", "never", false),
			Entry("known to an Identifier, is adopted by the policy if-unowned", "NamedThing", "if-unowned", true),
			Entry("known to an Identifier, is adopted by the policy always", "NamedThing", "always", true),
			Entry("known to an Identifier, is not adopted by the policy never", "NamedThing", "never", false),
		)

		It("an external with the token of another owner is not adopted", func(ctx SpecContext) {
			g := newApp(ctx, thing("FindableThing", "one", "a", set("external-id", foreignThing.ID)))
			Eventually(waiting(ctx, g)).Should(ContainSubstring("of-another-owner"))
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(ownThings(cloud)).To(BeEmpty())
		})

		It("an id that does not exist is an error, and nothing is created", func(ctx SpecContext) {
			g := newApp(ctx, thing("Thing", "one", "a", set("external-id", "nobody")))
			Eventually(waiting(ctx, g)).Should(And(ContainSubstring("external-id"), ContainSubstring("nobody")))
			Expect(cloud.Calls("Create")).To(BeZero())
		})

		It("an external that others create at the same moment under the same id is not taken over", func(ctx SpecContext) {
			cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
				if c.Method == "Create" {
					cloud.Put(theirs)
				}
				return componenttest.CloudFault{}
			})
			g := newApp(ctx, thing("NamedThing", theirs.ID, "new", set("adoption-policy", "never")))
			Eventually(waiting(ctx, g)).Should(ContainSubstring("adopt"))
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(cloud.Things()).To(ContainElement(theirs))
		})
	})

	Describe("deletion", func() {
		It("the delete policy orphan leaves the external, and an event names its id", func(ctx SpecContext) {
			g := newApp(ctx, thing("Thing", "one", "a", set("delete-policy", "orphan")))
			expectReady(ctx, g)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(ownThings(cloud)).To(Equal([]string{"a"}))
			Eventually(events(ctx)).Should(ContainSubstring("thing-1"))
			Expect(stateSecrets(ctx, namespace)).To(BeEmpty())
		})

		It("an external of a kind without Deleter is left, and an event names its id", func(ctx SpecContext) {
			g := newApp(ctx, named("PermanentNamedThing", "one", "a"))
			expectReady(ctx, g)
			changeManifests(ctx, g, configMaps("cm", 1, "a"))
			expectReady(ctx, g)
			Eventually(events(ctx)).Should(ContainSubstring(`"one"`))
			Expect(ownThings(cloud)).To(Equal([]string{"a"}))
		})

		It("externals are deleted in the reverse order", func(ctx SpecContext) {
			var order []string
			cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
				if c.Method == "Delete" || c.Method == "Create" {
					order = append(order, c.Method+" "+c.ID)
				}
				return componenttest.CloudFault{}
			})
			g := newApp(ctx, thing("NamedThing", "one", "a", set("order", "1"))+thing("NamedThing", "two", "b",
				set("order", "2"))+
				thing("NamedThing", "zero", "c", set("depends-on", "NamedThing.external.fairlead.io two")))
			expectReady(ctx, g)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(order).To(Equal([]string{
				"Create one", "Create two", "Create zero", "Delete zero", "Delete two",
				"Delete one",
			}))
		})

		It("an external is purged when a later wave is ready", func(ctx SpecContext) {
			g := newApp(ctx, thing("Thing", "one", "a", set("purge-order", "1"))+thing("Thing", "two", "b", set("order", "2")))
			expectReady(ctx, g)
			Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"b"}))
		})

		It("objects that wait for the deletion of an external go on as soon as gone-when holds", func(ctx SpecContext) {
			g := newApp(ctx, thing("NamedThing", "one", "a", set("gone-when", "self == null || self.status.phase == 'Going'"))+
				fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, annotations: {%s/order: \"-1\"}}\n",
					operator))
			expectReady(ctx, g)
			deleted := make(chan struct{})
			cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
				if c.Method == "Delete" {
					cloud.Put(componenttest.Thing{ID: "one", Value: "a", Phase: "Going"})
					return componenttest.CloudFault{Stale: true}
				}
				return componenttest.CloudFault{}
			})
			remove(ctx, g)
			Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "base") }).Should(BeFalse())
			Expect(current(ctx, g).DeletionTimestamp).NotTo(BeNil())
			close(deleted)
			cloud.Remove("one")
			expectNotFound(ctx, g)
		})
	})

	Describe("reconcile policies", func() {
		It("observe reads only, and waits for the external", func(ctx SpecContext) {
			g := newApp(ctx, thing("NamedThing", "one", "a", set("reconcile-policy", "observe")))
			Eventually(waiting(ctx, g)).Should(ContainSubstring("NamedThing"))
			theirs := componenttest.Thing{ID: "one", Value: "other"}
			cloud.Put(theirs)
			expectReady(ctx, g)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(cloud.Things()).To(ContainElement(theirs))
			Expect(cloud.Calls("Create") + cloud.Calls("Update") + cloud.Calls("Delete")).To(BeZero())
		})

		It("a kind without Creator is awaited", func(ctx SpecContext) {
			g := newApp(ctx, named("ReadOnlyNamedThing", "one", "a"))
			Eventually(waiting(ctx, g)).Should(ContainSubstring("cannot create it"))
			remove(ctx, g)
			expectNotFound(ctx, g)
		})

		DescribeTable("after a drift, a removal, and a change of the manifest", func(ctx SpecContext,
			policy, drifted, removed, changed string,
		) {
			g := newApp(ctx, thing("NamedThing", "one", "a"))
			expectReady(ctx, g)
			changeManifests(ctx, g, thing("NamedThing", "one", "a", set("reconcile-policy", policy)))
			expectReady(ctx, g)
			now := func() string { return strings.Join(ownThings(cloud), "") }
			cloud.Put(componenttest.Thing{ID: "one", Value: "x"})
			Eventually(now).Should(Equal(drifted))
			Consistently(now, time.Second).Should(Equal(drifted))
			cloud.Remove("one")
			Eventually(now).Should(Equal(removed))
			Consistently(now, time.Second).Should(Equal(removed))
			changeManifests(ctx, g, thing("NamedThing", "one", "b", set("reconcile-policy", policy)))
			Eventually(now).Should(Equal(changed))
		},
			Entry("on-object-or-component-change restores all", "on-object-or-component-change", "a", "a", "b"),
			Entry("once restores nothing", "once", "x", "", ""),
			Entry("create-only creates again, and never updates", "create-only", "x", "a", "a"),
			Entry("update-only updates, and never creates", "update-only", "a", "", ""),
		)

		It("always updates in each pass", func(ctx SpecContext) {
			g := newApp(ctx, thing("Thing", "one", "a", set("reconcile-policy", "always")))
			expectReady(ctx, g)
			before := cloud.Calls("Update")
			requestPass(ctx, g, operator)
			Eventually(func() int { return cloud.Calls("Update") }).Should(BeNumerically(">", before))
		})
	})

	Describe("fields that cannot be changed", func() {
		It("are an error that names the field", func(ctx SpecContext) {
			g := newApp(ctx, thing("FixedThing", "one", "a"))
			expectReady(ctx, g)
			changeManifests(ctx, g, thing("FixedThing", "one", "b"))
			Eventually(waiting(ctx, g)).Should(And(ContainSubstring("spec.value cannot be changed"),
				ContainSubstring("recreate")))
			Expect(ownThings(cloud)).To(Equal([]string{"a"}))
		})

		It("lead to another external by the update policy recreate", func(ctx SpecContext) {
			recreate := set("update-policy", "recreate")
			g := newApp(ctx, thing("FixedThing", "one", "a", recreate))
			expectReady(ctx, g)
			changeManifests(ctx, g, thing("FixedThing", "one", "b", recreate))
			Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"b"}))
			expectReady(ctx, g)
			Expect(cloud.Effects("Create")).To(Equal(2))
		})
	})

	Describe("readiness and values", func() {
		It("an external is ready as its Readier and ready-when say, and dependents wait for it", func(ctx SpecContext) {
			cloud.Put(componenttest.Thing{ID: "one", Value: "a", Phase: "Starting"})
			g := newApp(ctx, named("ReadOnlyNamedThing", "one", "a", set("reconcile-policy", "observe"),
				set("ready-when", "self.status.value == 'z'"))+
				strings.ReplaceAll(configMaps("cm", 1, "a", set("depends-on", "ReadOnlyNamedThing.external.fairlead.io one")),
					"\n", "\n"))
			Eventually(waiting(ctx, g)).Should(ContainSubstring("its phase is Starting"))
			cloud.Put(componenttest.Thing{ID: "one", Value: "a"})
			Eventually(waiting(ctx, g)).ShouldNot(ContainSubstring("its phase is Starting"))
			Expect(configMapExists(ctx, namespace, "cm-0")).To(BeFalse())
			cloud.Put(componenttest.Thing{ID: "one", Value: "z"})
			expectReady(ctx, g)
			Expect(configMapExists(ctx, namespace, "cm-0")).To(BeTrue())
		})

		It("a new observed value updates the bound object with one write", func(ctx SpecContext) {
			g := newApp(ctx, thing("Thing", "one", "a", operator+`/export: "phase=self.status.?phase.orValue('none')"`)+
				fmt.Sprintf(
					"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bound, annotations: {%s/bind: \"true\"}}\n"+
						"data: {phase: \"${{ phase }}\"}\n", operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			mark := markAudit(ctx)
			made := cloud.Things()[slices.IndexFunc(cloud.Things(), func(t componenttest.Thing) bool { return t.Value == "a" })]
			made.Phase = "Ready"
			cloud.Put(made)
			Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "bound").Object["data"] }).
				Should(HaveKeyWithValue("phase", "Ready"))
			settle(ctx, operator)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps"))).
				To(Equal([]string{"patch configmaps 200"}))
		})

		It("an external binds the export of an object", func(ctx SpecContext) {
			text := fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\n"+
				"metadata: {name: source, annotations: {%s/export: \"v=self.data.value\"}}\ndata: {value: first}\n", operator) +
				thing("Thing", "one", "${{ v }}", operator+`/bind: "true"`)
			g := newApp(ctx, text)
			expectReady(ctx, g)
			Expect(ownThings(cloud)).To(Equal([]string{"first"}))
			changeManifests(ctx, g, strings.Replace(text, "value: first", "value: second", 1))
			Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"second"}))
			expectReady(ctx, g)
		})
	})

	Describe("credentials", func() {
		secret := func(name, password string) *corev1.Secret {
			s := &corev1.Secret{StringData: map[string]string{"password": password}}
			s.Namespace, s.Name = namespace, name
			return s
		}
		with := func(name string) string {
			return thing("PasswordThing", "one", "a") + "references: [{kind: Secret, name: " + name + "}]\n"
		}

		It("are held while externals live, replaced without a restart, and shown nowhere", func(ctx SpecContext) {
			Expect(k8s.Create(ctx, secret("admin", "hunter2-first"))).To(Succeed())
			g := newApp(ctx, with("admin"))
			expectReady(ctx, g)
			Expect(passwords.Load()).To(Equal("hunter2-first"))
			held := &corev1.Secret{}
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "admin"}, held)).To(Succeed())
			Expect(held.Finalizers).NotTo(BeEmpty())

			patch(ctx, held, `{"stringData":{"password":"wrong-hunter2"}}`)
			Eventually(passwords.Load).Should(Equal("wrong-hunter2"))
			patch(ctx, held, `{"stringData":{"password":"hunter2-second"}}`)
			Eventually(passwords.Load).Should(Equal("hunter2-second"))
			Expect(waiting(ctx, g)()).NotTo(ContainSubstring("hunter2"))
			Expect(events(ctx)()).NotTo(ContainSubstring("hunter2"))
			for _, s := range stateSecrets(ctx, namespace) {
				Expect(fmt.Sprint(s.Data)).NotTo(ContainSubstring("hunter2"))
			}

			By("naming another Secret, which is held instead")
			Expect(k8s.Create(ctx, secret("other", "hunter2-other"))).To(Succeed())
			changeManifests(ctx, g, with("other"))
			Eventually(passwords.Load).Should(Equal("hunter2-other"))
			Eventually(ctx, func() []string {
				s := &corev1.Secret{}
				Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "admin"}, s)).To(Succeed())
				return s.Finalizers
			}).Should(BeEmpty())
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "other"}, held)).To(Succeed())
			Expect(held.Finalizers).NotTo(BeEmpty())

			By("deleting the Secret together with the component")
			Expect(k8s.Delete(ctx, held)).To(Succeed())
			remove(ctx, g)
			expectNotFound(ctx, g)
			expectNotFound(ctx, held)
			Expect(ownThings(cloud)).To(BeEmpty())
		})

		It("a missing Secret is an error of its external alone", func(ctx SpecContext) {
			g := newApp(ctx, with("missing")+thing("Thing", "two", "b"))
			Eventually(waiting(ctx, g)).Should(And(ContainSubstring("PasswordThing"), ContainSubstring("missing")))
			Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"b"}))
			Expect(k8s.Create(ctx, secret("missing", "p"))).To(Succeed())
			expectReady(ctx, g)
			Expect(ownThings(cloud)).To(ConsistOf("a", "b"))
		})

		It("are read as the identity of the component", func(ctx SpecContext) {
			Expect(k8s.Create(ctx, secret("admin", "p"))).To(Succeed())
			g := newApp(ctx, with("admin"), func(g *gadget.Gadget) { g.Spec.User = "nobody" })
			Eventually(waiting(ctx, g)).Should(ContainSubstring("nobody"))
			Expect(ownThings(cloud)).To(BeEmpty())
		})
	})

	Describe("mistakes", func() {
		const bound = "---\napiVersion: external.fairlead.io/v1\nkind: %s\n" +
			"metadata: {name: one, annotations: {%s/bind: \"true\"}}\n" +
			"spec: {%s: \"${{ value }}\"}\n"
		DescribeTable("are refused before anything is created, with the object and the field", func(ctx SpecContext,
			text, want string,
		) {
			text = strings.ReplaceAll(text, "OPERATOR", operator)
			g := newApp(ctx, configMap("cm-0", "a", settingOf(operator, "export", "value=self.data.value"))+"\n"+text)
			expectCondition(ctx, g, "Ready", And(ContainSubstring(".external.fairlead.io one: "), ContainSubstring(want)))
			Expect(configMapExists(ctx, namespace, "cm-0")).To(BeFalse())
			Expect(cloud.Calls("Create")).To(BeZero())
		},
			Entry("an unknown field",
				"---\napiVersion: external.fairlead.io/v1\nkind: Thing\nmetadata: {name: one}\nspec: {valu: a}\n", "spec.valu"),
			Entry("a value that the kind refuses", thing("FixedThing", "one", "a b"), "spec.value: blanks are not allowed"),
			Entry("an unknown kind", thing("Unheard", "one", "a"), "no handler is registered for externals of the kind Unheard"),
			Entry("an unknown kind of an external with bound values", fmt.Sprintf(bound, "Unheard", "OPERATOR", "value"),
				"no handler is registered for externals of the kind Unheard"),
			Entry("an unknown field with a bound value", fmt.Sprintf(bound, "Thing", "OPERATOR", "valu"), "spec.valu"),
		)

		DescribeTable("of a handler harm its own component alone", func(ctx SpecContext, value, want string) {
			bad := newGadget(ctx, namespace, "bad", thing("BrokenThing", "one", value)+configMaps("cm", 1, "a"),
				servedBy(operator))
			good := newGadget(ctx, namespace, "good", thing("Thing", "two", "b"), servedBy(operator))
			expectReady(ctx, good)
			Eventually(waiting(ctx, bad)).Should(ContainSubstring(want))
			Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "cm-0") }).Should(BeTrue())
		},
			Entry("a panic", "panic", "CreateUncertain"),
			Entry("a call that hangs", "hang", "CreateUncertain"),
			Entry("no id", "nonsense", "CreateUncertain"),
		)
	})

	It("answers that an external does not exist, within the settle time, and stale ones, create "+
		"nothing twice", func(ctx SpecContext) {
		var mu sync.Mutex
		observed := map[string]int{}
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			mu.Lock()
			defer mu.Unlock()
			observed[c.Method+c.ID]++
			return componenttest.CloudFault{Stale: c.Method == "List" || c.Method == "Observe" && observed[c.Method+c.ID]%2 == 1}
		})
		g := newApp(ctx, thing("Thing", "one", "a")+thing("ListedThing", "two", "b"))
		expectReady(ctx, g)
		Consistently(func() []string { return ownThings(cloud) }, 3*time.Second).Should(ConsistOf("a", "b"))
		Expect(cloud.Calls("Create")).To(Equal(2))
		Expect(cloud.Calls("Delete")).To(BeZero())
		cloud.SetFault(nil)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(ownThings(cloud)).To(BeEmpty())
	})

	It("a suspended component polls nothing", func(ctx SpecContext) {
		g := newApp(ctx, thing("Thing", "one", "a"))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, "Ready", "Suspended")
		before := cloud.Calls("Observe")
		Consistently(func() int { return cloud.Calls("Observe") }, 1500*time.Millisecond).
			Should(BeNumerically("<=", before+1))
		cloud.Remove("thing-1")
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		Eventually(func() []string { return ownThings(cloud) }).Should(Equal([]string{"a"}))
	})

	It("a lost status is rebuilt with the externals", func(ctx SpecContext) {
		g := newApp(ctx, thing("Thing", "one", "a")+configMaps("cm", 1, "a"))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		run(operatorOptions{})
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(2))
		changeManifests(ctx, g, configMaps("cm", 1, "a"))
		Eventually(func() []string { return ownThings(cloud) }).Should(BeEmpty())
		Expect(cloud.Effects("Create")).To(Equal(1))
	})

	It("a drift that others make again and again is repaired with back-off", func(ctx SpecContext) {
		g := newApp(ctx, thing("NamedThing", "one", "a"))
		expectReady(ctx, g)
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Observe" {
				cloud.Put(componenttest.Thing{ID: "one", Value: "theirs"})
			}
			return componenttest.CloudFault{}
		})
		Eventually(func() int { return cloud.Calls("Update") }).Should(BeNumerically(">=", 3))
		before := cloud.Calls("Update")
		Consistently(func() int { return cloud.Calls("Update") }, 3*time.Second).Should(BeNumerically("<", before+6))
	})

	It("an update without effect is a conflict that names the difference", func(ctx SpecContext) {
		g := newApp(ctx, thing("StubbornThing", "one", "a"))
		expectReady(ctx, g)
		for _, t := range cloud.Things() {
			if t.Value == "a" {
				t.Value = "theirs"
				cloud.Put(t)
			}
		}
		expectCondition(ctx, g, metav1alpha1.ConditionRepairConflict, ContainSubstring(`value is "theirs", not "a"`))
	})

	It("two operators at once create an external once", func(ctx SpecContext) {
		run(operatorOptions{})
		g := newApp(ctx, thing("Thing", "one", "a")+thing("FindableThing", "two", "b")+thing("NamedThing", "three", "c"))
		expectResolved(ctx, g, operator, cloud)
		Eventually(func() []string { return ownThings(cloud) }).Should(ConsistOf("a", "b", "c"))
		for _, id := range []string{"thing-1", "three"} {
			cloud.Remove(id)
			Eventually(func() []string {
				resolveByCloud(ctx, g, operator, cloud)
				return ownThings(cloud)
			}).WithPolling(100 * time.Millisecond).Should(ConsistOf("a", "b", "c"))
		}
		changeManifests(ctx, g, thing("Thing", "one", "d"))
		Eventually(func() []string { return ownThings(cloud) }).Should(ConsistOf("d"))
		expectDeleted(ctx, g, operator, cloud)
	})

	It("a component without externals makes no request for them, and one with externals makes "+
		"none at rest", func(ctx SpecContext) {
		mark := markAudit(ctx)
		without := newGadget(ctx, namespace, "without", configMaps("cm", 1, "a"), servedBy(operator))
		expectReady(ctx, without)
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator).Resource("secrets"))).To(BeEmpty())
		with := newApp(ctx, thing("Thing", "one", "a")+thing("Thing", "two", "b"))
		expectReady(ctx, with)
		settle(ctx, operator)
		Expect(requestsSince(ctx, mark, operator).Resource("secrets").Writes()).To(
			Or(HaveLen(2), HaveLen(3)), "an intent, and the results, which are recorded together if they arrive together")
		mark = markAudit(ctx)
		observed := cloud.Calls("Observe")
		Eventually(func() int { return cloud.Calls("Observe") }).Should(BeNumerically(">", observed+8))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
	})
})
