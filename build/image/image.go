package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Keys of annotations in the OCI image specification.
const (
	annotationName     = "org.opencontainers.image.ref.name"
	annotationCreated  = "org.opencontainers.image.created"
	annotationTitle    = "org.opencontainers.image.title"
	annotationVersion  = "org.opencontainers.image.version"
	annotationRevision = "org.opencontainers.image.revision"
	annotationLicenses = "org.opencontainers.image.licenses"
)

// typeSPDX is the media type of a bill of materials.
const typeSPDX types.MediaType = "application/spdx+json"

// build writes the image layout, and returns the digest of the index with the tag.
func build(ctx context.Context, o options, progress io.Writer) (v1.Hash, error) {
	var programs []compiled
	for _, platform := range o.platforms {
		_, _ = fmt.Fprintf(progress, "image: compiling for %s\n", platform)
		program, err := compile(ctx, o, platform)
		if err != nil {
			return v1.Hash{}, err
		}
		programs = append(programs, program)
	}
	index, bills, err := assemble(o, programs)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := write(o, index, bills); err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", o.output, err)
	}
	return index.Digest()
}

// assemble returns the index of the images, and a bill of materials for each image.
func assemble(o options, programs []compiled) (index v1.ImageIndex, bills []v1.Image, err error) {
	common, err := layerOf(base(), o.created)
	if err != nil {
		return nil, nil, err
	}
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, program := range programs {
		image, err := imageOf(o, program, common)
		if err != nil {
			return nil, nil, fmt.Errorf("image for %s: %w", program.platform, err)
		}
		index = mutate.AppendManifests(
			index,
			mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &program.platform}},
		)
		bill, err := billOf(o, program, image)
		if err != nil {
			return nil, nil, fmt.Errorf("bill of materials for %s: %w", program.platform, err)
		}
		bills = append(bills, bill)
	}
	annotated, ok := mutate.Annotations(index, annotationsOf(o, programs[0].name)).(v1.ImageIndex)
	if !ok {
		return nil, nil, errors.New("annotations changed the type of the index")
	}
	return annotated, bills, nil
}

func annotationsOf(o options, title string) map[string]string {
	annotations := map[string]string{
		annotationTitle:    title,
		annotationVersion:  o.version,
		annotationLicenses: "Apache-2.0",
		annotationCreated:  o.created.Format(time.RFC3339),
	}
	if o.revision != "" {
		annotations[annotationRevision] = o.revision
	}
	return annotations
}

// imageOf returns the image for a platform. It has two layers: the files that every static program needs, and the
// program.
func imageOf(o options, program compiled, common v1.Layer) (v1.Image, error) {
	executable := entry{name: program.name, mode: 0o555, content: program.content}
	own, err := layerOf([]entry{executable}, o.created)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: o.created}
	image, err = mutate.Append(
		image,
		mutate.Addendum{
			Layer:     common,
			MediaType: types.OCILayer,
			History:   v1.History{Created: created, CreatedBy: "users, certificates, /tmp"},
		},
		mutate.Addendum{
			Layer:     own,
			MediaType: types.OCILayer,
			History:   v1.History{Created: created, CreatedBy: "go build"},
		},
	)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = created, program.platform.OS, program.platform.Architecture
	config.Config = v1.Config{
		User: user, Entrypoint: []string{"/" + program.name}, WorkingDir: "/",
		Env:    []string{"SSL_CERT_FILE=" + certificates},
		Labels: annotationsOf(o, program.name),
	}
	return mutate.ConfigFile(image, config)
}

// billOf returns the bill of materials of an image, as an artifact that refers to the image. Registries list such an
// artifact among the referrers of the image.
func billOf(o options, program compiled, image v1.Image) (v1.Image, error) {
	subject, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	document, err := spdx(o, program, subject.Digest)
	if err != nil {
		return nil, err
	}
	bill := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), typeSPDX)
	bill, err = mutate.Append(bill, mutate.Addendum{Layer: static.NewLayer(document, typeSPDX), MediaType: typeSPDX})
	if err != nil {
		return nil, err
	}
	descriptor := v1.Descriptor{MediaType: subject.MediaType, Size: subject.Size, Digest: subject.Digest}
	referring, ok := mutate.Subject(bill, descriptor).(v1.Image)
	if !ok {
		return nil, errors.New("the reference to the image changed the type of the artifact")
	}
	return referring, nil
}

// write writes the layout to a temporary folder, and renames the folder when the layout is complete.
func write(o options, index v1.ImageIndex, bills []v1.Image) error {
	if err := os.MkdirAll(filepath.Dir(o.output), 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(o.output), ".image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // After a successful rename, the folder does not exist.
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{annotationName: o.version})); err != nil {
		return err
	}
	for _, bill := range bills {
		if err := path.AppendImage(bill); err != nil {
			return err
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		return err
	}
	if err := makeRoom(o.output); err != nil {
		return err
	}
	return os.Rename(folder, o.output)
}

// makeRoom removes an older layout in the folder output. It returns an error if the folder contains anything else.
func makeRoom(output string) error {
	entries, err := os.ReadDir(output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(output, "oci-layout")); err != nil && len(entries) > 0 {
		return errors.New("the folder exists and is not an image layout; choose another folder, or remove it")
	}
	return os.RemoveAll(output)
}
