package e2e

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/goccy/go-yaml"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
)

// The parts of Kubernetes' objects that the manifest uses. Other fields are errors.
type (
	labels   map[string]string
	manifest struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name   string `yaml:"name"`
			Labels labels `yaml:"labels"`
		} `yaml:"metadata"`
		Spec struct {
			Selector any `yaml:"selector"` // labels of a Service, matchLabels of a StatefulSet
			Ports    []struct {
				Name       string `yaml:"name"`
				Port       int    `yaml:"port"`
				TargetPort string `yaml:"targetPort"`
			} `yaml:"ports"`
			ServiceName string `yaml:"serviceName"`
			Replicas    int    `yaml:"replicas"`
			Template    struct {
				Metadata struct {
					Labels labels `yaml:"labels"`
				} `yaml:"metadata"`
				Spec pod `yaml:"spec"`
			} `yaml:"template"`
			VolumeClaimTemplates []struct {
				Metadata struct {
					Name string `yaml:"name"`
				} `yaml:"metadata"`
				Spec struct {
					AccessModes []string `yaml:"accessModes"`
					Resources   struct {
						Requests labels `yaml:"requests"`
					} `yaml:"resources"`
				} `yaml:"spec"`
			} `yaml:"volumeClaimTemplates"`
			PodSelector struct {
				MatchLabels labels `yaml:"matchLabels"`
			} `yaml:"podSelector"`
			PolicyTypes []string `yaml:"policyTypes"`
			Ingress     []struct {
				From []struct {
					PodSelector labels `yaml:"podSelector"`
				} `yaml:"from"`
				Ports []struct {
					Port string `yaml:"port"`
				} `yaml:"ports"`
			} `yaml:"ingress"`
		} `yaml:"spec"`
	}
	pod struct {
		EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot   bool   `yaml:"runAsNonRoot"`
			RunAsUser      int    `yaml:"runAsUser"`
			RunAsGroup     int    `yaml:"runAsGroup"`
			FSGroup        int    `yaml:"fsGroup"`
			SeccompProfile labels `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		Containers []container `yaml:"containers"`
		Volumes    []struct {
			Name     string `yaml:"name"`
			EmptyDir labels `yaml:"emptyDir"`
		} `yaml:"volumes"`
	}
	container struct {
		Name            string   `yaml:"name"`
		Image           string   `yaml:"image"`
		ImagePullPolicy string   `yaml:"imagePullPolicy"`
		Args            []string `yaml:"args"`
		Env             []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"env"`
		Ports []struct {
			Name          string `yaml:"name"`
			ContainerPort int    `yaml:"containerPort"`
		} `yaml:"ports"`
		StartupProbe   probe `yaml:"startupProbe"`
		LivenessProbe  probe `yaml:"livenessProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		Resources      struct {
			Requests labels `yaml:"requests"`
			Limits   labels `yaml:"limits"`
		} `yaml:"resources"`
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct {
				Drop []string `yaml:"drop"`
			} `yaml:"capabilities"`
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string `yaml:"name"`
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	probe struct {
		HTTPGet struct {
			Path string `yaml:"path"`
			Port string `yaml:"port"`
		} `yaml:"httpGet"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		TimeoutSeconds   int `yaml:"timeoutSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	}
)

// TestKubernetes checks the manifest for Kubernetes: its fields, and that its flags, variables,
// ports, probes, user and folders are those of the program and of the image.
func TestKubernetes(t *testing.T) {
	d := yaml.NewDecoder(bytes.NewReader([]byte(read(t, "../manual/kubernetes.yaml"))), yaml.Strict())
	objects := map[string]manifest{}
	for {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		objects[m.APIVersion+" "+m.Kind] = m
	}
	service, set, policy := objects["v1 Service"], objects["apps/v1 StatefulSet"], objects["networking.k8s.io/v1 NetworkPolicy"]
	if len(objects) != 3 || len(set.Spec.Template.Spec.Containers) != 1 || len(policy.Spec.Ingress) != 1 {
		t.Fatalf("there are %d objects, %d containers", len(objects), len(set.Spec.Template.Spec.Containers))
	}
	image := read(t, "../../../Dockerfile")
	in := func(of string) string {
		m := regexp.MustCompile(`(?m)` + of).FindStringSubmatch(image)
		if m == nil {
			t.Fatalf("the image has no %s", of)
		}
		return m[1]
	}
	c, is := set.Spec.Template.Spec.Containers[0], set.Spec.Template.Spec
	if c.Image != in(`docker build -t (\S+) `) || set.Spec.ServiceName != service.Metadata.Name || set.Spec.Replicas != 1 {
		t.Errorf("image %q, Service %q of %q, %d replicas", c.Image, set.Spec.ServiceName, service.Metadata.Name, set.Spec.Replicas)
	}
	if user := in(`^USER (\d+):`); user != "65532" || is.SecurityContext.RunAsUser != 65532 || is.SecurityContext.FSGroup != 65532 || !is.SecurityContext.RunAsNonRoot {
		t.Errorf("the image's user is %s, the pod's %d", user, is.SecurityContext.RunAsUser)
	}
	if _, err := cli.ParserFor(t.Context(), cli.Streams{}, command.All(), c.Args).Parse(c.Args); err != nil {
		t.Errorf("%q: %v", c.Args, err)
	}
	var variables []string
	for _, n := range nodes(t) {
		for _, f := range n.Flags {
			variables = append(variables, f.Envs...)
		}
	}
	for _, e := range c.Env {
		if !slices.Contains(variables, e.Name) {
			t.Errorf("there is no variable %s", e.Name)
		}
	}
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, of := range map[string]string{"http": "MAYFLY_HTTP", "admin": "MAYFLY_ADMIN", "amqp": "MAYFLY_AMQP"} {
		if want := in(of + `=0\.0\.0\.0:(\d+)`); want != strconv.Itoa(ports[name]) {
			t.Errorf("the port %s is %d, the image listens on %s", name, ports[name], want)
		}
	}
	for _, p := range service.Spec.Ports {
		if ports[p.TargetPort] != p.Port || p.Name != p.TargetPort {
			t.Errorf("the Service's port %s is %d and leads to %s", p.Name, p.Port, p.TargetPort)
		}
	}
	for _, p := range policy.Spec.Ingress[0].Ports {
		if ports[p.Port] == 0 {
			t.Errorf("the policy admits %q", p.Port)
		}
	}
	if len(service.Spec.Ports) != len(ports) || len(policy.Spec.Ingress[0].Ports) != len(ports) {
		t.Errorf("of %d ports the Service has %d, the policy %d", len(ports), len(service.Spec.Ports), len(policy.Spec.Ingress[0].Ports))
	}
	mounted := map[string]string{}
	for _, v := range c.VolumeMounts {
		mounted[v.MountPath] = v.Name
	}
	if data := in(`^VOLUME (\S+)`); len(set.Spec.VolumeClaimTemplates) != 1 || mounted[data] != set.Spec.VolumeClaimTemplates[0].Metadata.Name || len(is.Volumes) != 1 || mounted["/tmp"] != is.Volumes[0].Name {
		t.Errorf("mounted is %v", mounted)
	}
	s := Start(t, server.Config{Store: "memory:"})
	for _, p := range []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if code, text := Request(t, "GET", s.Dashboard+p.HTTPGet.Path, ""); code != 200 || p.HTTPGet.Port != "http" {
			t.Errorf("the probe %s at %s: %d %s", p.HTTPGet.Path, p.HTTPGet.Port, code, text)
		}
	}
	if is := regexp.MustCompile(`(?m)^\s*Endpoint=sb://([^;]+);`).FindStringSubmatch(doc(t, "kubernetes")); is != nil && is[1] != service.Metadata.Name {
		t.Errorf("the page connects to %s", is[1])
	}
}
