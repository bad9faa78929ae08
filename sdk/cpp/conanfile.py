from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class Svc(ConanFile):
    name = "svc"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "Client library of the svc service for AI agents: instrumentation, durable runs, workers"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "otel": [True, False]}
    default_options = {"shared": False, "otel": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"

    def requirements(self):
        self.requires("libcurl/[>=7.85 <9]")
        self.requires("nlohmann_json/[>=3.11 <4]", transitive_headers=True)
        if self.options.otel:
            self.requires("opentelemetry-cpp/[>=1.14 <2]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, "20")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SVC_WITH_OTEL"] = bool(self.options.otel)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "svc")
        self.cpp_info.set_property("cmake_target_name", "svc::svc")
        self.cpp_info.set_property("pkg_config_name", "svc")
        self.cpp_info.libs = ["svc"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
