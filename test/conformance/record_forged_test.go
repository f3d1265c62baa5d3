package conformance_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// recordKind returns the Secrets in a namespace with records of a kind.
func recordKind(ctx context.Context, namespace, kind string) []corev1.Secret {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !strings.HasPrefix(s.Name, kind+"-") })
}

// replaceLines writes the lines of an inventory into a Secret, as another client.
func replaceLines(ctx context.Context, secret *corev1.Secret, change func(line string) string) {
	GinkgoHelper()
	const key = "inventory.json.gz"
	reader, err := gzip.NewReader(bytes.NewReader(secret.Data[key]))
	Expect(err).NotTo(HaveOccurred())
	var lines []string
	Expect(json.NewDecoder(reader).Decode(&lines)).To(Succeed())
	for i := range lines {
		lines[i] = change(lines[i])
	}
	buffer := &bytes.Buffer{}
	writer := gzip.NewWriter(buffer)
	Expect(json.NewEncoder(writer).Encode(lines)).To(Succeed())
	Expect(writer.Close()).To(Succeed())
	secret.Data[key] = buffer.Bytes()
	Expect(k8s.Update(ctx, secret, client.FieldOwner(backupTool))).To(Succeed())
}

var _ = Describe("Records of dependents that another client forged:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// expectHealed waits until each gadget has been searched and is ready, then deletes all, and expects that nothing is
	// left.
	expectHealed := func(ctx context.Context, all []edited, places map[string]string) {
		GinkgoHelper()
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RecordChanged") }).Should(HaveLen(len(all)))
		for _, e := range all {
			expectReady(ctx, e.Gadget)
			status := current(ctx, e.Gadget).Status
			Expect([]string{status.TargetNamespace, status.TargetName, status.TargetCluster}).
				To(Equal([]string{places[e.Name], e.Name, ""}), e.Name)
		}
		for _, e := range all {
			remove(ctx, e.Gadget)
		}
		for _, e := range all {
			expectNotFound(ctx, e.Gadget)
			Expect(configMapExists(ctx, places[e.Name], e.Name)).To(BeFalse())
		}
	}

	for _, running := range []bool{true, false} {
		It(fmt.Sprintf("an edited target does not stall a component (running: %t)", running), func(ctx SpecContext) {
			edits := []map[string]any{
				{"targetNamespace": "other"},
				{"targetName": "other"},
				{"targetCluster": "other"},
				{"targetNamespace": nil},
				{"targetName": nil},
				{"targetNamespace": "other", "targetName": "other", "targetCluster": "other"},
			}
			stop := runOperator(operator, operatorOptions{})
			var all []edited
			places := map[string]string{}
			for i := range edits {
				name := fmt.Sprintf("app-%d", i)
				all, places[name] = append(all, edited{Gadget: newGadget(ctx, namespace, name, configMap(name, "a"),
					servedBy(operator))}), namespace
			}
			for _, e := range all {
				expectReady(ctx, e.Gadget)
			}
			settle(ctx, operator)
			if !running {
				stop()
			}
			for i, e := range all {
				var fields []string
				for field := range edits[i] {
					fields = append(fields, field)
				}
				e.damage(ctx, fields, func(field string) any { return edits[i][field] })
			}
			if !running {
				runOperator(operator, operatorOptions{})
			}
			expectHealed(ctx, all, places)
		})

		It(fmt.Sprintf("components with different targets whose statuses were swapped are ready again (running: %t)",
			running), func(ctx SpecContext) {
			stop := runOperator(operator, operatorOptions{})
			places := map[string]string{"one": namespace, "two": newNamespace(ctx)}
			var all []edited
			for _, name := range []string{"one", "two"} {
				all = append(all, edited{Gadget: newGadget(ctx, namespace, name, configMap(name, "a"),
					servedBy(operator), func(g *gadget.Gadget) { g.Spec.TargetNamespace = places[name] })})
			}
			for _, e := range all {
				expectReady(ctx, e.Gadget)
			}
			settle(ctx, operator)
			if !running {
				stop()
			}
			one, two := current(ctx, all[0].Gadget).Status, current(ctx, all[1].Gadget).Status
			writeBack(ctx, all[0].Gadget, two)
			writeBack(ctx, all[1].Gadget, one)
			if !running {
				runOperator(operator, operatorOptions{})
			}
			expectHealed(ctx, all, places)
		})
	}

	It("an edited target is not taken over if the dependents show that the declared "+
		"target was changed", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		edited{Gadget: g}.damage(ctx, []string{"targetName"}, func(string) any { return "other" })
		elsewhere := newNamespace(ctx)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.TargetNamespace = elsewhere })
		runOperator(operator, operatorOptions{})
		expectCondition(ctx, g, "Ready", HavePrefix("False InvalidSpec: target "+namespace+"/other cannot change to "+
			elsewhere+"/app"))
		Expect(configMapExists(ctx, namespace, "settings")).To(BeTrue())
	})

	It("forged fields of entries neither stall a component nor block its deletion", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		forged := []func(line string) string{
			func(line string) string { return line + " !zz@v9.9=1" },
			func(line string) string { return line + " t=*.apps" },
			func(line string) string { return line + " gd=true ph=pre-delete pp=at-once" },
			func(line string) string { return strings.Replace(line, "/v1/", "/v9/", 1) },
			func(line string) string { return line + " !ex@v0.1=begun" },
		}
		var all []edited
		places := map[string]string{}
		for i := range forged {
			name := fmt.Sprintf("app-%d", i)
			all, places[name] = append(all, edited{Gadget: newGadget(ctx, namespace, name, configMap(name, "a"),
				servedBy(operator))}), namespace
		}
		for _, e := range all {
			expectReady(ctx, e.Gadget)
		}
		settle(ctx, operator)
		stop()
		for i, e := range all {
			lines := slices.Clone(current(ctx, e.Gadget).Status.Inventory)
			lines[0] = forged[i](lines[0])
			e.damage(ctx, []string{"inventory"}, func(string) any { return lines })
		}
		runOperator(operator, operatorOptions{})
		expectHealed(ctx, all, places)
	})

	It("an unknown critical field that another client wrote into a Secret with an inventory does not stall "+
		"the component", func(ctx SpecContext) {
		options := operatorOptions{component: component.Options{Limits: component.Limits{StatusInventory: -1}}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app", configMap("app", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		for _, secret := range recordKind(ctx, namespace, "inventory") {
			replaceLines(ctx, &secret, func(line string) string { return line + " !zz@v9.9=1" })
		}
		runOperator(operator, options)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = configMap("app", "b") })
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "app")["value"] }).Should(Equal("b"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "app")).To(BeFalse())
		Expect(secretsOf(ctx, namespace)).To(BeEmpty())
	})

	It("if the pinned rendering is deleted and the record is edited, the applied values stay", func(ctx SpecContext) {
		options := operatorOptions{generate: &chart{}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			"{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}"),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		password := content(ctx, "Secret", namespace, "login")["password"]
		stop()
		for _, secret := range recordKind(ctx, namespace, "rendered") {
			letGo(ctx, &secret)
			remove(ctx, &secret)
		}
		lines := current(ctx, g).Status.Inventory
		edited{Gadget: g}.damage(ctx, []string{"inventory"}, func(string) any { return lines[1:] })
		runOperator(operator, options)
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RenderedSetLost") }).Should(HaveLen(1))
		Eventually(ctx, func() []string { return recordedNames(ctx, g) }).Should(ConsistOf("settings", "login"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(content(ctx, "Secret", namespace, "login")["password"]).To(Equal(password))
		Expect(content(ctx, "ConfigMap", namespace, "settings")["value"]).To(Equal("a"))
	})
})
