// Holds manifests to Kubernetes' own types: each document of the YAML files named is decoded as what its
// kind says, and an unknown, doubled or mistyped field is a mistake. Prints a line for each; asks no server.
// A file named compose.yaml is read as docker compose reads it, with all its profiles.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

var known = map[string]func() any{
	"apps/v1 DaemonSet":                       func() any { return &apps.DaemonSet{} },
	"v1 ConfigMap":                            func() any { return &core.ConfigMap{} },
	"v1 Secret":                               func() any { return &core.Secret{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"v1 ServiceAccount":                       func() any { return &core.ServiceAccount{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
}

func mistakes(document []byte) []string {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return []string{err.Error()}
	}
	var kind meta.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &kind); err != nil {
		return []string{err.Error()}
	}
	name := kind.APIVersion + " " + kind.Kind
	make, found := known[name]
	if !found {
		return []string{name + ": no kind that this program knows"}
	}
	strict, err := json.UnmarshalStrict(text, make())
	said := []string{}
	if err != nil {
		said = append(said, name+": "+err.Error())
	}
	for _, one := range strict {
		said = append(said, name+": "+one.Error())
	}
	return said
}

// What docker compose would start: one service a line.
func compose(path string) error {
	options, err := cli.NewProjectOptions([]string{path}, cli.WithOsEnv, cli.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	for _, name := range project.ServiceNames() {
		fmt.Println("service " + name)
	}
	return nil
}

func main() {
	code, count := 0, 0
	for _, path := range os.Args[1:] {
		if filepath.Base(path) == "compose.yaml" {
			if err := compose(path); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			count++
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		for _, document := range bytes.Split(append([]byte("\n"), text...), []byte("\n---")) {
			body := strings.TrimSpace(strings.TrimPrefix(string(document), "---"))
			if body == "" || !strings.Contains(body, ":") {
				continue
			}
			count++
			for _, said := range mistakes(document) {
				fmt.Printf("%s: %s\n", path, said)
				code = 1
			}
		}
	}
	fmt.Printf("%d documents\n", count)
	if count == 0 {
		code = 1
	}
	os.Exit(code)
}
