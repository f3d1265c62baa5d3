package source_test

import (
	"fmt"
	"io/fs"

	"github.com/fairlead-io/fairlead/pkg/source"
)

// shop is a source for the examples.
func shop() fs.FS {
	files, err := source.FromFiles(
		map[string][]byte{"chart/Chart.yaml": []byte("name: shop"), "README.md": []byte("A shop.")},
	)
	if err != nil {
		panic(err)
	}
	return files
}

func ExampleFromFiles() {
	_, err := source.FromFiles(map[string][]byte{"../outside.yaml": nil})
	fmt.Println(err != nil)
	content, err := fs.ReadFile(shop(), "README.md")
	fmt.Println(string(content), err)
	// Output:
	// true
	// A shop. <nil>
}

func ExamplePack() {
	one, errOne := source.Pack(shop())
	other, errOther := source.Pack(shop())
	fmt.Println(string(one) == string(other), errOne, errOther)
	// Output: true <nil> <nil>
}

func ExampleUnpack() {
	archive, err := source.Pack(shop())
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := source.Unpack(archive, source.Limits{TotalBytes: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := fs.ReadFile(files, "chart/Chart.yaml")
	fmt.Println(string(content), err)
	_, err = source.Unpack(archive, source.Limits{TotalBytes: 3})
	fmt.Println(err != nil)
	// Output:
	// name: shop <nil>
	// true
}

// Equal content has equal digests, whether it was read from a folder or from an archive.
func ExampleDigest() {
	archive, err := source.Pack(shop())
	if err != nil {
		fmt.Println(err)
		return
	}
	unpacked, err := source.Unpack(archive, source.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	one, errOne := source.Digest(shop())
	other, errOther := source.Digest(unpacked)
	fmt.Println(one == other, errOne, errOther)
	// Output: true <nil> <nil>
}

func ExampleSize() {
	fmt.Println(source.Size(shop()))
	// Output: 17 <nil>
}

func ExampleRead() {
	copied, err := source.Read(shop(), source.Limits{Entries: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(source.Size(copied))
	// Output: 17 <nil>
}

func ExampleSub() {
	chart, err := source.Sub(shop(), "chart")
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := fs.ReadFile(chart, "Chart.yaml")
	fmt.Println(string(content), err)
	_, err = source.Sub(shop(), "charts")
	fmt.Println(err != nil)
	// Output:
	// name: shop <nil>
	// true
}
