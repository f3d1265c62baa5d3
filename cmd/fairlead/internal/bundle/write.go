package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
)

// Stream writes a bundle as a stream of YAML documents.
func (b Bundle) Stream(out io.Writer) error {
	text, err := stream(b.Objects)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// Save writes a bundle to the file place. If place is a folder or ends in a slash, it writes a file for each object
// into this folder. It returns the names of the files, and an error if a file already exists.
func (b Bundle) Save(place string) ([]string, error) {
	info, err := os.Stat(place)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && info.IsDir() || strings.HasSuffix(place, "/") {
		return b.saveFolder(place)
	}
	return b.saveFile(place, b.Objects)
}

func (b Bundle) saveFolder(folder string) ([]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for _, obj := range b.Objects {
		saved, err := b.saveFile(filepath.Join(folder, FileName(obj)), []*unstructured.Unstructured{obj})
		if err != nil {
			return files, err
		}
		files = append(files, saved...)
	}
	return files, nil
}

// saveFile writes a file. If the bundle contains Secrets, only the owner of the file can read it.
func (b Bundle) saveFile(name string, objects []*unstructured.Unstructured) ([]string, error) {
	text, err := stream(objects)
	if err != nil {
		return nil, err
	}
	mode := os.FileMode(0o644)
	if b.Secrets {
		mode = 0o600
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%q exists; choose another file", name)
	}
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	return []string{name}, errors.Join(err, file.Close())
}

func stream(objects []*unstructured.Unstructured) ([]byte, error) {
	var text bytes.Buffer
	for _, obj := range objects {
		document, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		text.WriteString("---\n")
		text.WriteString(remark(obj))
		text.Write(document)
	}
	return text.Bytes(), nil
}

// remark returns a YAML comment for the source of a component, and an empty text for other objects. The copied source
// has no owner reference, because the UID of the copied component is unknown, so garbage collection does not delete it.
func remark(obj *unstructured.Unstructured) string {
	if _, isSource := obj.GetLabels()[publish.LabelSourceOf]; !isSource ||
		obj.GetKind() != string(metav1alpha1.ConfigMapReference) {
		return ""
	}
	return fmt.Sprintf("# If kubectl applies this source, it is not deleted with its component. Then delete it with:\n"+
		"#   kubectl -n %s delete configmap %s\n", obj.GetNamespace(), obj.GetName())
}
