package scaffold_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

func TestOptionsAreCheckedAsKubernetesAndGoDo(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scaffold.Options)
		want   string
	}{
		"a group with capitals": {
			func(o *scaffold.Options) { o.Group = "Apps.example.com" },
			`--group "Apps.example.com"`,
		},
		"a group without a dot": {func(o *scaffold.Options) { o.Group = "apps" }, "with a dot"},
		"the group of Fairlead": {func(o *scaffold.Options) {
			o.Group, o.Kind = "fairlead.io",
				"Component"
		}, "Fairlead"},
		"a group of Kubernetes": {func(o *scaffold.Options) { o.Group = "apps.k8s.io" }, "of Kubernetes"},
		"the operator name of Fairlead": {
			func(o *scaffold.Options) { o.OperatorName = "fairlead.io" },
			"Fairlead",
		},
		"no group": {
			func(o *scaffold.Options) { o.Group = "" },
			"--group is missing: want a name of your own",
		},
		"an external kind in lower case": {
			func(o *scaffold.Options) { o.External = "bucket" },
			`--external "bucket": want a word in camel case`,
		},
		"a plural in capitals": {func(o *scaffold.Options) { o.Resource = "Shops" }, `--plural "Shops"`},
		"a watch on the component itself": {func(o *scaffold.Options) {
			o.Watched = []scaffold.Watched{{Group: o.Group, Version: "v1", Kind: o.Kind}}
		}, "watched anyway"},
		"a kind that is watched twice": {func(o *scaffold.Options) {
			o.Watched = []scaffold.Watched{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Secret"}}
		}, "given twice"},
		"a watch, and a kind that is too long for a label": {func(o *scaffold.Options) {
			o.Kind, o.Watched = "S"+strings.Repeat("h", 53), []scaffold.Watched{{Version: "v1", Kind: "Secret"}}
		}, "at most 53 letters"},
		"no module":             {func(o *scaffold.Options) { o.Module = "" }, "--module is missing"},
		"an invalid version":    {func(o *scaffold.Options) { o.Version = "1.0" }, "--version"},
		"version zero":          {func(o *scaffold.Options) { o.Version = "v0" }, "--version"},
		"a kind in lower case":  {func(o *scaffold.Options) { o.Kind = "shop" }, "--kind"},
		"a kind with a hyphen":  {func(o *scaffold.Options) { o.Kind = "My-Shop" }, "--kind"},
		"a kind that is a list": {func(o *scaffold.Options) { o.Kind = "ShopList" }, "lists"},
		"a kind that is too long": {
			func(o *scaffold.Options) { o.Kind = "S" + strings.Repeat("h", 63) },
			"--kind",
		},
		"a definition whose name is too long": {func(o *scaffold.Options) {
			o.Group = strings.Repeat("a.", 124) +
				"com"
		}, "name of the definition"},
		"an operator name with an underscore": {
			func(o *scaffold.Options) { o.OperatorName = "shop_operator.example.com" },
			"--operator-name",
		},
		"an operator name that begins with a digit": {
			func(o *scaffold.Options) { o.OperatorName = "1shop.example.com" },
			"before the first dot",
		},
		"an operator name that is too long": {func(o *scaffold.Options) {
			o.OperatorName = strings.Repeat("a", 41) +
				".example.com"
		}, "before the first dot"},
		"a module path with a space": {
			func(o *scaffold.Options) { o.Module = "example.com/shop operator" },
			"--module",
		},
		"a module path that leaves its folder":  {func(o *scaffold.Options) { o.Module = "../shop" }, "--module"},
		"a module path of the standard library": {func(o *scaffold.Options) { o.Module = "std/shop" }, "--module"},
		"a module path with major version one": {
			func(o *scaffold.Options) { o.Module = "example.com/shop/v1" },
			"major version",
		},
		"the module path of Fairlead": {
			func(o *scaffold.Options) { o.Module = "github.com/fairlead-io/fairlead/x" },
			"module of Fairlead",
		},
		"an image with a tag": {
			func(o *scaffold.Options) { o.Image = "registry.example.com/shop:1" },
			"--image",
		},
		"an image with capitals": {
			func(o *scaffold.Options) { o.Image = "registry.example.com/Shop" },
			"--image",
		},
		"an unknown generator": {
			func(o *scaffold.Options) { o.Generator = "jsonnet" },
			"Helm, Kustomize, GoTemplate, Go",
		},
		"an owner with a line feed": {
			func(o *scaffold.Options) { o.Owner = "Example\npackage x" },
			`--owner "Example\npackage x"`,
		},
		"an owner with a space at its end": {func(o *scaffold.Options) { o.Owner = "Example " }, "without spaces"},
		"an owner that is too long":        {func(o *scaffold.Options) { o.Owner = strings.Repeat("a", 201) }, "at most 200"},
		"a team with a space":              {func(o *scaffold.Options) { o.Owner = "@example/the platform" }, "after the @"},
		"a license with a line feed":       {func(o *scaffold.Options) { o.License = "MIT\n" }, "--spdx-license-headers"},
		"a license that is a sentence":     {func(o *scaffold.Options) { o.License = "All rights reserved" }, "of SPDX"},
		"an unknown interface": {
			func(o *scaffold.Options) { o.Interfaces = []scaffold.Interface{"colour"} },
			"--interfaces",
		},
		"an interface twice": {
			func(o *scaffold.Options) { o.Interfaces = []scaffold.Interface{"suspend", "suspend"} },
			"twice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := shop()
			test.change(&o)
			err := o.Validate()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got the error %v, want %q", err, test.want)
			}
		})
	}
}

func TestOptionsThatAreUsualAreAccepted(t *testing.T) {
	for name, change := range map[string]func(*scaffold.Options){
		"the default options":              func(*scaffold.Options) {},
		"a stable version":                 func(o *scaffold.Options) { o.Version = "v2" },
		"a module with major version two":  func(o *scaffold.Options) { o.Module = "example.com/shop/v2" },
		"an operator name without a dot":   func(o *scaffold.Options) { o.OperatorName = "shop-operator" },
		"an image in a registry with port": func(o *scaffold.Options) { o.Image = "localhost:5000/team/shop_operator" },
		"an owner with letters of others":  func(o *scaffold.Options) { o.Owner = "Müller & Söhne, Åre" },
		"a user as owner":                  func(o *scaffold.Options) { o.Owner = "@example" },
		"a choice of licenses": func(o *scaffold.Options) {
			o.License = "MIT OR GPL-2.0+ WITH " +
				"Classpath-exception-2.0"
		},
		"a kind that is a word of Go": func(o *scaffold.Options) { o.Kind = "Func" },
	} {
		t.Run(name, func(t *testing.T) {
			o := shop()
			change(&o)
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestANameIsToldOnceAlsoWhereTheImageFollowsFromIt(t *testing.T) {
	o := shop()
	o.OperatorName, o.Image = "A_b", ""
	err := o.WithDefaults().Validate()
	if err == nil || !strings.HasPrefix(err.Error(), `--operator-name "A_b": want`) ||
		strings.Contains(err.Error(), "--image") {
		t.Errorf("the error must name --operator-name, and not the derived --image: %v", err)
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	err := scaffold.Options{}.Validate()
	if err == nil {
		t.Fatal("missing options must be an error")
	}
	for _, flag := range []string{"--group", "--version", "--kind", "--operator-name", "--module", "--generator"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("the error does not name %s: %v", flag, err)
		}
	}
	if strings.ContainsAny(err.Error(), "[]*") || strings.Contains(err.Error(), "--image") {
		t.Errorf("want errors in words, and none for derived defaults, got %v", err)
	}
}
