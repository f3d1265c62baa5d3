package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spdx/tools-golang/json"
)

// makeImage builds an image of a small program, and returns the folder of its layout.
func makeImage(t *testing.T, arguments ...string) string {
	t.Helper()
	output := filepath.Join(t.TempDir(), "image")
	var stderr bytes.Buffer
	arguments = append([]string{
		"-program", "testdata/hello", "-output", output, "-version", "v1.2.3", "-epoch",
		"1700000000",
	}, arguments...)
	if code := run(t.Context(), arguments, io.Discard, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	return output
}

// open returns the index with the tag, and the other manifests in the layout, which are bills of materials.
func open(t *testing.T, folder string) (index v1.ImageIndex, bills []v1.Image) {
	t.Helper()
	root, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, descriptor := range manifest.Manifests {
		if descriptor.MediaType.IsIndex() {
			if tag := descriptor.Annotations[annotationName]; tag != "v1.2.3" {
				t.Errorf("the image has the tag %q", tag)
			}
			index, err = root.ImageIndex(descriptor.Digest)
		} else {
			var bill v1.Image
			bill, err = root.Image(descriptor.Digest)
			bills = append(bills, bill)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return index, bills
}

// images returns the image of each platform.
func images(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, descriptor := range manifest.Manifests {
		if found[descriptor.Platform.String()], err = index.Image(descriptor.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestAnImageHoldsTheProgramForEachPlatformAndNoShell(t *testing.T) {
	index, _ := open(t, makeImage(t))
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	found := images(t, index)
	if len(found) != 2 || found["linux/amd64"] == nil || found["linux/arm64"] == nil {
		t.Fatalf("the index has images for %d platforms", len(found))
	}
	for platform, image := range found {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS+"/"+config.Architecture != platform || config.Config.User != "65532:65532" ||
			!slices.Equal(config.Config.Entrypoint, []string{"/hello"}) {
			t.Errorf("%s has the configuration %+v", platform, config)
		}
		if names, want := list(t, image), []string{
			"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt",
			"tmp/", "hello",
		}; !slices.Equal(names, want) {
			t.Errorf("%s contains %v, want %v", platform, names, want)
		}
	}
}

// list returns the names of the files in an image, layer by layer.
func list(t *testing.T, image v1.Image) (names []string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(content)
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Uid != 0 || header.ModTime.Unix() != 1700000000 || header.Mode&0o022 != 0 && header.Name != "tmp/" {
				t.Errorf("%s belongs to %d, is of %s, and has the mode %o", header.Name, header.Uid, header.ModTime, header.Mode)
			}
			names = append(names, header.Name)
		}
	}
	return names
}

func TestTheCertificatesAreThoseOfAuthorities(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots()) {
		t.Fatal("no certificate can be read")
	}
	if count := strings.Count(string(roots()), "BEGIN CERTIFICATE"); count < 50 {
		t.Errorf("there are %d certificates", count)
	}
}

func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	first, second := makeImage(t), makeImage(t)
	names := func(folder string) (found []string) {
		err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if a, b := names(first), names(second); !slices.Equal(a, b) {
		t.Fatalf("%v and %v", a, b)
	}
	for _, name := range names(first) {
		a, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(second, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestABillOfMaterialsRefersToEachImage(t *testing.T) {
	index, bills := open(t, makeImage(t))
	subjects := map[v1.Hash]bool{}
	for _, bill := range bills {
		manifest, err := bill.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		subjects[manifest.Subject.Digest] = true
		layers, err := bill.Layers()
		if err != nil {
			t.Fatal(err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		document, err := json.Read(content)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range document.Packages {
			names = append(names, p.PackageName)
		}
		if !slices.Equal(names, []string{"hello", "stdlib"}) || document.Packages[0].PackageVersion != "v1.2.3" {
			t.Errorf("the bill lists %v", names)
		}
	}
	for platform, image := range images(t, index) {
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if !subjects[digest] {
			t.Errorf("no bill refers to the image for %s", platform)
		}
	}
}

func TestAnOlderLayoutIsReplacedAndNothingElse(t *testing.T) {
	folder := makeImage(t, "-platforms", "linux/amd64")
	arguments := []string{
		"-program", "testdata/hello", "-output", folder, "-version", "v1.2.3", "-platforms",
		"linux/arm64",
	}
	if code := run(t.Context(), arguments, io.Discard, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	index, _ := open(t, folder)
	if found := images(t, index); len(found) != 1 || found["linux/arm64"] == nil {
		t.Errorf("the index has images for %v", found)
	}

	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	arguments[3] = other
	var stderr bytes.Buffer
	if code := run(t.Context(), arguments, io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(),
		"not an image layout") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if _, err := os.Stat(filepath.Join(other, "thesis.txt")); err != nil {
		t.Error(err)
	}
}

func TestTheProgramInTheImageIsTheOneThatIsBuilt(t *testing.T) {
	index, _ := open(t, makeImage(t, "-platforms", "linux/amd64"))
	content := mutate.Extract(images(t, index)["linux/amd64"])
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != "hello" {
			continue
		}
		magic := make([]byte, 4)
		if _, err := io.ReadFull(archive, magic); err != nil || string(magic) != "\x7fELF" {
			t.Errorf("the program begins with %q: %v", magic, err)
		}
		return
	}
}

func TestArgumentsThatMakeNoSenseAreNamedAllAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		arguments []string
		want      []string
	}{
		"nothing":     {nil, []string{"-program and -output must be given"}},
		"no platform": {[]string{"-program", "a", "-output", "b", "-platforms", "linux"}, []string{`"linux" is not`}},
		"several mistakes": {
			[]string{"-platforms", "x,", "-epoch", "-1", "rest"},
			[]string{`"rest"`, "-program", "-epoch", `"x"`, `""`},
		},
		"an unknown flag": {[]string{"-push"}, []string{"-push"}},
		"an invalid time": {[]string{"-epoch", "today"}, []string{"today"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := run(t.Context(), c.arguments, io.Discard, &stderr); code != exitBadUsage {
				t.Errorf("exit code %d", code)
			}
			for _, text := range c.want {
				if !strings.Contains(stderr.String(), text) {
					t.Errorf("%q does not contain %q", stderr.String(), text)
				}
			}
		})
	}
}

func TestAProgramThatDoesNotCompileLeavesTheOlderLayout(t *testing.T) {
	folder := makeImage(t, "-platforms", "linux/amd64")
	var stderr bytes.Buffer
	arguments := []string{"-program", "testdata", "-output", folder}
	if code := run(t.Context(), arguments, io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(),
		"go build for linux/amd64") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if _, err := layout.ImageIndexFromPath(folder); err != nil {
		t.Error(err)
	}
}
