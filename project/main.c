int f1(void), f2(void), f3(void), f4(void);
int main(void) { f1(); f2(); f3(); return !f4(); }
