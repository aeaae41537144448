#include <map>
#include <string>
int main() { std::map<std::string, int> m; m["one"] = 1; return m.size(); }
