package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who runs the program: nobody who owns anything in the image. Its number is the one that images without a
// distribution have for it, and stands in the manifests that install the operator.
const user = "65532:65532"

// certificates is where Go looks first.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// entry is a file in a layer, or a folder, whose name ends with a slash.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// base is what a static program needs besides itself, and no more: no shell, no libraries, nothing that can be run.
func base() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte(
			"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: certificates[1:], mode: 0o644, content: roots()},
		{name: "tmp/", mode: 0o1777},
	}
}

// roots are the authorities that Mozilla trusts without reservation. A reservation, such as for certificates after some
// day, cannot be said in a file of certificates.
func roots() []byte {
	var content bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			content.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return content.Bytes()
}

// layerOf packs entries, which belong to root.
func layerOf(entries []entry, created time.Time) (v1.Layer, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: created, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}
