package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
)

const (
	paddingBytes = 4 << 20
	largeSources = 12
	// budgetBytes is enough for one of the large sources, which have 28 MiB each and are sent to a child, but not for
	// two.
	budgetBytes = 280 << 20
	// peakBytes is more than the operator with this budget takes, and less than it takes for all sources at once.
	peakBytes = 640 << 20
)

// largeSource is a source of 28 MiB, whose archive is small.
func largeSource(name string) (archive []byte, digest string) {
	GinkgoHelper()
	manifest := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}", name)
	files := fstest.MapFS{"a.yaml": {Data: []byte(manifest)}}
	for i := range 7 {
		files[fmt.Sprintf("%d.txt", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte(name+"\n"), paddingBytes/(len(name)+1))}
	}
	archive, err := source.Pack(files)
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(archive)
	return archive, hex.EncodeToString(sum[:])
}

// peakMemory returns the largest resident memory of a process so far.
func peakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no VmHWM in %s", text)
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kib << 10, err
}

var _ = Describe("Components that need more memory together than the operator has", func() {
	It("get Ready one after another, and a usual component does not wait for them", func(ctx SpecContext) {
		if _, err := peakMemory(os.Getpid()); err != nil {
			Skip(err.Error())
		}
		namespace := newNamespace(ctx)
		sent := map[string][]byte{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(sent[r.URL.Path])
		}))
		DeferCleanup(server.Close)
		var large []*v1alpha1.Component
		for i := range largeSources {
			name := fmt.Sprint("large-", i)
			archive, digest := largeSource(name)
			sent["/"+name] = archive
			component := &v1alpha1.Component{Spec: v1alpha1.ComponentSpec{
				Source: v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{URL: server.URL + "/" + name, SHA256: digest}},
			}}
			component.Namespace, component.Name = namespace, name
			large = append(large, component)
		}
		GinkgoT().Setenv("GOMEMLIMIT", "500MiB")
		restartOperator(ctx, fmt.Sprint("--memory-budget-bytes=", budgetBytes), "--rendering-processes=4")
		expectWork(ctx)
		createAll(ctx, large)
		usual := createComponent(ctx, newNamespace(ctx), "usual", v1alpha1.ComponentSpec{
			Source: inline("settings.yaml", monitored),
		})
		Eventually(status(ctx, usual)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		for _, component := range large {
			Eventually(status(ctx, component)).WithTimeout(2*time.Minute).Should(HavePrefix("Ready Ready: "), component.Name)
		}
		peak, err := peakMemory(operatorPID)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Printf("peak of the operator: %d MiB\n", peak>>20)
		Expect(peak).To(BeNumerically("<", peakBytes))
	}, SpecTimeout(4*time.Minute))
})

// createAll creates components at the same time.
func createAll(ctx context.Context, components []*v1alpha1.Component) {
	GinkgoHelper()
	var all sync.WaitGroup
	for _, component := range components {
		all.Go(func() {
			defer GinkgoRecover()
			Expect(administrator.Create(ctx, component)).To(Succeed())
		})
	}
	all.Wait()
}
